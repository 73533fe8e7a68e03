// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace loam::checkpoint {
namespace {

TEST(Interval, MatchesYoungsFormula) {
  const IntervalAdvice advice = advise_interval(std::chrono::hours(4), Seconds(10)).value();
  EXPECT_NEAR(advice.interval.count(), 536.66, 0.005);
  EXPECT_NEAR(advice.loss, 0.0373, 0.0001);
}

TEST(Interval, IsTheCheapestAroundIt) {
  const double mean = 7200;
  const double cost = 25;
  const IntervalAdvice advice = advise_interval(Seconds(mean), Seconds(cost)).value();
  for (const double factor : {0.5, 0.9, 1.1, 2.0}) {
    const double other = advice.interval.count() * factor;
    EXPECT_GT(cost / other + other / (2 * mean), advice.loss);
  }
}

TEST(Interval, StaysInBoundsWhereSavesAreSlow) {
  const IntervalAdvice advice = advise_interval(Seconds(60), Seconds(600)).value();
  EXPECT_GE(advice.interval.count(), 600);
  EXPECT_LE(advice.loss, 1);
  EXPECT_TRUE(std::isfinite(advise_interval(Seconds(1e300), Seconds(1e300))->interval.count()));
}

TEST(Interval, GivesNoAdviceWithoutAMeasurement) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, infinity, std::nan("")}) {
    EXPECT_FALSE(advise_interval(Seconds(bad), Seconds(10)));
    EXPECT_FALSE(advise_interval(Seconds(10), Seconds(bad)));
  }
}

}  // namespace
}  // namespace loam::checkpoint
