// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/result.h"
#include "db/database.h"

namespace loam::jobs {

// The clock by which leases, back-off and grace periods are measured: one row of the database, in
// milliseconds. Every live server advances it by what its own monotonic clock says has passed, by
// compare-and-swap, at most kMaxStepMs at once. So it runs while any server runs, stands still
// while none does or the database is down, and no wall clock has a say.
inline constexpr std::int64_t kMaxStepMs = 1'000;

// The row's value: "now" inside a transaction.
Result<std::int64_t> lease_now(db::Session& session);

// One server's hand on the clock. Not for concurrent use.
class LeaseClockAdvancer {
 public:
  explicit LeaseClockAdvancer(const Clock& clock) : clock_(clock) {}

  // Advances the row by the time since the last call, if no other server did so meanwhile, and
  // returns its value. The first call only reads.
  Result<std::int64_t> advance(db::Session& session);

 private:
  const Clock& clock_;
  std::int64_t seen_ms_ = -1;      // the row's value at the last call
  std::int64_t seen_boot_us_ = 0;  // our own clock then
};

}  // namespace loam::jobs
