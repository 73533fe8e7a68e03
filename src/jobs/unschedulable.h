// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jobs/operation.h"

namespace loam::jobs {

// Tells those who wait in vain: a queued job that none of the live nodes can run, by its resources
// or because it failed on all of them that could, gets the phase 'unschedulable' and a message that
// says which; one that a live node can run again is 'queued'. While no node is up at all, jobs just
// wait. It stays in the queue either way, so a node that comes may claim it at once. At most 500
// jobs a call; the number changed.
Result<std::int64_t> mark_unschedulable(Operation& op);

}  // namespace loam::jobs
