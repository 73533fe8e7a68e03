// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <gtest/gtest.h>

namespace loam {
namespace {

using namespace std::chrono_literals;

TEST(ClockTest, UtcForPeople) {
  EXPECT_EQ(format_utc(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_utc(1'700'000'000'000), "2023-11-14T22:13:20Z");
  EXPECT_EQ(format_utc(1'700'000'000'007), "2023-11-14T22:13:20.007Z");
  EXPECT_EQ(format_utc(1'709'164'800'000), "2024-02-29T00:00:00Z");
}

TEST(ClockTest, TheSystemClockNeverRunsBack) {
  const SystemClock clock;
  std::int64_t before = clock.boot_us();
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t now = clock.boot_us();
    ASSERT_GE(now, before);
    before = now;
  }
  EXPECT_GT(clock.wall_ms(), 1'600'000'000'000);
}

TEST(ClockTest, AManualClockMovesBothTimesAndJumpsOne) {
  ManualClock clock;
  const std::int64_t boot = clock.boot_us();
  const std::int64_t wall = clock.wall_ms();
  for (int i = 0; i < 4; ++i)
    clock.advance(250us);
  EXPECT_EQ(clock.boot_us(), boot + 1'000);
  EXPECT_EQ(clock.wall_ms(), wall + 1);
  clock.jump_wall(-1h);
  EXPECT_EQ(clock.boot_us(), boot + 1'000);
  EXPECT_EQ(clock.wall_ms(), wall + 1 - 3'600'000);
}

}  // namespace
}  // namespace loam
