// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace loam {

using Duration = std::chrono::microseconds;

// The seam to time. Decisions use monotonic time only; wall time is for people and for log lines.
// Implementations may be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // Microseconds of CLOCK_BOOTTIME: it goes on while the machine is suspended and never jumps.
  virtual std::int64_t boot_us() const = 0;
  // Milliseconds since the Unix epoch. Never used to decide anything.
  virtual std::int64_t wall_ms() const = 0;
};

class SystemClock final : public Clock {
 public:
  std::int64_t boot_us() const override;
  std::int64_t wall_ms() const override;
};

// A clock that stands still until it is told to move; for tests and the simulator.
class ManualClock final : public Clock {
 public:
  std::int64_t boot_us() const override { return boot_us_.load(); }
  std::int64_t wall_ms() const override { return wall_ms_.load(); }
  void advance(Duration by);
  // Moves wall time alone, as an operator or NTP would.
  void jump_wall(std::chrono::milliseconds by) { wall_ms_ += by.count(); }

 private:
  std::atomic<std::int64_t> boot_us_{1'000'000};
  std::atomic<std::int64_t> wall_ms_{1'700'000'000'000};
};

// 2026-11-30T15:30:00Z, or with milliseconds when they are not zero.
std::string format_utc(std::int64_t wall_ms);

}  // namespace loam
