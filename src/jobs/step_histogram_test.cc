// SPDX-License-Identifier: Apache-2.0
#include "jobs/step_histogram.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "jobs/jobs_testing.h"

namespace loam::jobs {
namespace {

using testing::code_of;
using testing::must;

StepHistogram of(const std::vector<std::int64_t>& durations) {
  StepHistogram out;
  for (const std::int64_t one : durations)
    out.add(one);
  return out;
}

rc::Gen<std::vector<std::int64_t>> durations() {
  return rc::gen::container<std::vector<std::int64_t>>(rc::gen::mapcat(
      rc::gen::inRange(0, 40),
      [](int bits) { return rc::gen::inRange<std::int64_t>(0, std::int64_t{2} << bits); }));
}

TEST(StepHistogramTest, EmptyHasNoMedian) {
  const StepHistogram none;
  EXPECT_FALSE(none.median_us());
  EXPECT_EQ(none.count(), 0);
  EXPECT_EQ(none.capped_sum_us(5), 0);
  EXPECT_EQ(none.to_json(), Json::array());
}

TEST(StepHistogramTest, AStallCountsUpToTheCap) {
  StepHistogram steps;
  steps.add(1'000, 99);
  steps.add(1'000'000);
  EXPECT_EQ(steps.median_us(), 1'000);
  EXPECT_EQ(steps.capped_sum_us(3'000), 99 * 1'000 + 3'000);
  EXPECT_EQ(steps.sum_us(), 99 * 1'000 + 1'000'000);
}

TEST(StepHistogramTest, HostileNumbersStopAtTheEndOfTheType) {
  const StepHistogram one = must(StepHistogram::from_json(
      Json::array({{504, std::int64_t{1} << 40, std::int64_t{1} << 60}, {3, 1, 0}})));
  EXPECT_EQ(one.capped_sum_us(INT64_MAX), std::int64_t{1} << 60);
  StepHistogram all;
  for (int i = 0; i < 20; ++i)
    all.merge(one);
  EXPECT_EQ(all.sum_us(), INT64_MAX);
  EXPECT_EQ(all.capped_sum_us(INT64_MAX), INT64_MAX);
  all.add(INT64_MAX, 2);
  EXPECT_EQ(all.sum_us(), INT64_MAX);
}

TEST(StepHistogramTest, RefusesWhatDoesNotAddUp) {
  for (const char* bad : {"{}", "3", "[1]", "[[1,2]]", "[[1,2,3,4]]", "[[-1,1,1]]", "[[505,1,1]]",
                          "[[1,-1,1]]", "[[1,1,-1]]", "[[1,1.5,1]]", "[[1,1,18446744073709551615]]",
                          R"([["1",1,1]])", "[[1,1,1],[1,2,2]]"}) {
    EXPECT_EQ(code_of(StepHistogram::from_json(must(parse_json(bad)))), ErrorCode::kInvalidArgument)
        << bad;
  }
}

RC_GTEST_PROP(StepHistogramProperty, CountsAndSumsAreExact, ()) {
  const auto all = *durations();
  const StepHistogram steps = of(all);
  RC_ASSERT(steps.count() == static_cast<std::int64_t>(all.size()));
  RC_ASSERT(steps.sum_us() == std::accumulate(all.begin(), all.end(), std::int64_t{0}));
  RC_ASSERT(must(StepHistogram::from_json(steps.to_json())).to_json() == steps.to_json());
}

RC_GTEST_PROP(StepHistogramProperty, MergingIsAddingUp, ()) {
  const auto a = *durations();
  auto both = *durations();
  StepHistogram merged = of(a);
  merged.merge(of(both));
  both.insert(both.end(), a.begin(), a.end());
  RC_ASSERT(merged.to_json() == of(both).to_json());
}

RC_GTEST_PROP(StepHistogramProperty, TheMedianIsWithinABucket, ()) {
  auto all = *rc::gen::nonEmpty(durations());
  const auto median = of(all).median_us();
  std::sort(all.begin(), all.end());
  const auto exact = static_cast<double>(all[(all.size() - 1) / 2]);
  RC_ASSERT(median.has_value());
  // A microsecond for rounding down.
  RC_ASSERT(static_cast<double>(*median) <= exact * 1.0906 + 1);
  RC_ASSERT(static_cast<double>(*median) >= exact / 1.0906 - 1);
}

RC_GTEST_PROP(StepHistogramProperty, TheCappedSumIsWithinABucket, ()) {
  const auto all = *durations();
  const auto cap = *rc::gen::inRange<std::int64_t>(1, 100'000'000);
  std::int64_t exact = 0;
  for (const std::int64_t one : all)
    exact += std::min(one, cap);
  const std::int64_t capped = of(all).capped_sum_us(cap);
  RC_ASSERT(capped >= exact);
  RC_ASSERT(static_cast<double>(capped) <= static_cast<double>(exact) * 1.0906 + 1);
}

}  // namespace
}  // namespace loam::jobs
