// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <ctime>

#include "base/check.h"

namespace loam {

namespace {
timespec read_clock(clockid_t id) {
  timespec now{};
  CHECK(clock_gettime(id, &now) == 0);
  return now;
}
}  // namespace

std::int64_t SystemClock::boot_us() const {
  const timespec now = read_clock(CLOCK_BOOTTIME);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

std::int64_t SystemClock::wall_ms() const {
  const timespec now = read_clock(CLOCK_REALTIME);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

void ManualClock::advance(Duration by) {
  const std::int64_t before = boot_us_.fetch_add(by.count());
  wall_ms_ += (before % 1'000 + by.count()) / 1'000;
}

std::string format_utc(std::int64_t wall_ms) {
  const std::time_t seconds = static_cast<std::time_t>(wall_ms / 1'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::string out(text, length);
  if (const std::int64_t ms = wall_ms % 1'000; ms != 0) {
    char fraction[8];
    std::snprintf(fraction, sizeof fraction, ".%03d", static_cast<int>(ms));
    out += fraction;
  }
  return out + "Z";
}

}  // namespace loam
