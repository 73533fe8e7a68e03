// SPDX-License-Identifier: Apache-2.0
#include "jobs/lease_clock.h"

#include <gtest/gtest.h>

#include <chrono>

#include "jobs/jobs_testing.h"

namespace loam::jobs {
namespace {

using namespace std::chrono_literals;
using testing::must;
using testing::World;

std::int64_t advance(World& world, LeaseClockAdvancer& advancer) {
  return must(world.db().write_value([&](db::Session& s) { return advancer.advance(s); }));
}

TEST(LeaseClockTest, FollowsTheMonotonicClock) {
  World world;
  LeaseClockAdvancer advancer(world.clock);
  const std::int64_t start = advance(world, advancer);
  world.clock.advance(200ms);
  EXPECT_EQ(advance(world, advancer), start + 200);
  EXPECT_EQ(advance(world, advancer), start + 200);
}

TEST(LeaseClockTest, NeverAdvancesMoreThanAStepAtOnce) {
  World world;
  LeaseClockAdvancer advancer(world.clock);
  const std::int64_t start = advance(world, advancer);
  world.clock.advance(30min);
  EXPECT_EQ(advance(world, advancer), start + kMaxStepMs);
  // What the step left out is gone, not owed.
  EXPECT_EQ(advance(world, advancer), start + kMaxStepMs);
}

TEST(LeaseClockTest, LessThanAMillisecondIsCarriedOver) {
  World world;
  LeaseClockAdvancer advancer(world.clock);
  const std::int64_t start = advance(world, advancer);
  for (int i = 0; i < 100; ++i) {
    world.clock.advance(700us);
    advance(world, advancer);
  }
  EXPECT_EQ(advance(world, advancer), start + 70);
}

TEST(LeaseClockTest, WallTimeHasNoSay) {
  World world;
  LeaseClockAdvancer advancer(world.clock);
  const std::int64_t start = advance(world, advancer);
  world.clock.jump_wall(1h);
  EXPECT_EQ(advance(world, advancer), start);
  world.clock.jump_wall(-48h);
  world.clock.advance(5ms);
  EXPECT_EQ(advance(world, advancer), start + 5);
}

TEST(LeaseClockTest, TwoServersDoNotAddUp) {
  World world;
  SeededRandom random(7);
  LeaseClockAdvancer a(world.clock);
  LeaseClockAdvancer b(world.clock);
  const std::int64_t start = advance(world, a);
  advance(world, b);
  std::int64_t passed_us = 0;
  for (int i = 0; i < 500; ++i) {
    const auto step = static_cast<std::int64_t>(random.below(200'000));
    world.clock.advance(std::chrono::microseconds(step));
    passed_us += step;
    // Neither is silent for a whole step.
    if (i % 4 == 0) advance(world, a);
    const std::int64_t ms = advance(world, i % 4 == 0 || random.below(2) == 0 ? b : a);
    ASSERT_LE(ms - start, passed_us / 1'000);
  }
  EXPECT_GE(advance(world, a) - start, passed_us / 1'000 - 1);
}

TEST(LeaseClockTest, StandsStillWhileNoServerRuns) {
  World world;
  std::int64_t before = 0;
  {
    LeaseClockAdvancer advancer(world.clock);
    advance(world, advancer);
    world.clock.advance(300ms);
    before = advance(world, advancer);
  }
  world.clock.advance(12h);
  // A server that starts has seen nothing pass.
  LeaseClockAdvancer advancer(world.clock);
  EXPECT_EQ(advance(world, advancer), before);
  world.clock.advance(100ms);
  EXPECT_EQ(advance(world, advancer), before + 100);
}

// The ticker's transaction can fail after the clock was advanced in it, on a full disk for example.
// However long that goes on, the clock stood still meanwhile.
TEST(LeaseClockTest, StepsThatWereRolledBackAreForgotten) {
  World world;
  LeaseClockAdvancer advancer(world.clock);
  const std::int64_t start = advance(world, advancer);
  for (int i = 0; i < 100; ++i) {
    world.clock.advance(1s);
    const Status rolled_back = world.db().write([&](db::Session& s) -> Status {
      TRY(advancer.advance(s));
      return fail(ErrorCode::kInternal, "the disk is full");
    });
    ASSERT_FALSE(rolled_back);
  }
  EXPECT_EQ(world.lease_ms(), start);
  world.clock.advance(200ms);
  EXPECT_EQ(advance(world, advancer), start + 200);
}

}  // namespace
}  // namespace loam::jobs
