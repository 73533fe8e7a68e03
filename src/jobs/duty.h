// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/operation.h"

namespace loam::jobs {

// Work beside the jobs' own that one server at a time does for all: publishing, sweeping. A server
// holds a duty for kDutyMs of the lease clock from its last keep. That clock may stand still for
// kMaxStepMs and then catch up, but is never ahead of real time otherwise; so a server that counts
// kDutyMs - kMaxStepMs from before its keep, by its own clock, stops in time.
inline constexpr std::int64_t kDutyMs = 3'000;

// Whether the duty is this server's now: it was, or nobody held it any more.
Result<bool> take_duty(Operation& op, const std::string& duty, const std::string& server);
// Extends what the server holds still, and names it.
Result<std::vector<std::string>> keep_duties(Operation& op, const std::string& server);
// Lets another take over at once.
Status leave_duties(Operation& op, const std::string& server);

}  // namespace loam::jobs
