// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/operation.h"

namespace loam::jobs {

// A finished attempt's prefix in the store, and what of it is still needed.
struct SweepTask {
  std::string job;
  std::int64_t epoch = 0;
  std::string prefix;
};

// Attempts that ended at least `grace_ms` of the lease clock ago and were not swept, oldest first;
// those whose outputs are still being published are left.
Result<std::vector<SweepTask>> unswept_attempts(Operation& op, std::int64_t grace_ms,
                                                std::size_t limit);
// Prefixes below an attempt's that hold live sets.
Result<std::vector<std::string>> live_set_prefixes(db::Session& session, const std::string& job,
                                                   std::int64_t epoch);
Status mark_swept(Operation& op, const std::string& job, std::int64_t epoch);

}  // namespace loam::jobs
