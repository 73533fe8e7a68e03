// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "jobs/operation.h"

namespace loam::jobs {

// Cancels a job that has not finished, at once: it leaves the queue, its lease is gone, and the
// node that ran it learns so from its next call. A finished job is kConflict (canceled ones are
// fine), as is one whose outputs are being published. Returns the node to nudge, if one held the
// lease.
Result<std::optional<std::string>> cancel_job(Operation& op, const std::string& job);

// Puts a failed or canceled job back into the queue with fresh budgets; it may run on any node
// again.
Status retry_job(Operation& op, const std::string& job);

}  // namespace loam::jobs
