// SPDX-License-Identifier: Apache-2.0
#include "jobs/lease_clock.h"

#include <algorithm>

#include "base/check.h"

namespace loam::jobs {

Result<std::int64_t> lease_now(db::Session& session) {
  const auto row = TRY(session.row("SELECT ms FROM lease_clock WHERE id = 1"));
  CHECK(row.has_value());
  return row->integer(0);
}

Result<std::int64_t> LeaseClockAdvancer::advance(db::Session& session) {
  const std::int64_t boot_us = clock_.boot_us();
  std::int64_t ms = TRY(lease_now(session));
  if (seen_ms_ >= 0) {
    const std::int64_t passed_ms =
        std::clamp<std::int64_t>((boot_us - seen_boot_us_) / 1'000, 0, kMaxStepMs);
    // Another server's advance since our last call counts for the same stretch of time.
    const std::int64_t target = std::min(seen_ms_, ms) + passed_ms;
    if (target > ms) {
      const std::int64_t changed =
          TRY(session.exec("UPDATE lease_clock SET ms = ? WHERE id = 1 AND ms = ?", target, ms));
      if (changed == 1) ms = target;
    }
    // Less than a millisecond is carried over to the next call, or the clock would run slow.
    seen_boot_us_ = passed_ms == kMaxStepMs ? boot_us : seen_boot_us_ + passed_ms * 1'000;
  } else {
    seen_boot_us_ = boot_us;
  }
  // If the last transaction did not commit, the row is behind what was seen; it is the truth.
  seen_ms_ = ms;
  return ms;
}

}  // namespace loam::jobs
