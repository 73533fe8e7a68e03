// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jobs/operation.h"

namespace loam::jobs {

// When at least this many leases of a pool, on at least kMassNodes nodes and more than half of all
// the pool holds, would expire together, the network or this server is the likelier culprit: each
// gets one more TTL, once.
inline constexpr std::int64_t kMassLeases = 10;
inline constexpr std::int64_t kMassNodes = 4;

// Leases whose time is over expire: their jobs are "recovering" and may be claimed by any node. The
// attempts live on until then, since a renewal can still bring them back. Returns how many expired.
Result<std::int64_t> expire_leases(Operation& op);

}  // namespace loam::jobs
