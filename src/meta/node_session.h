// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meta/object_id.h"
#include "meta/operation.h"

namespace loam::meta {

// Names a node's present session. Everything that a node changes in the name of what it holds
// (commits, locks, uploads) shows it.
struct NodeRef {
  std::string node;
  std::int64_t epoch = 0;
};

inline constexpr std::int64_t kMaxSessionTtlMs = 3'600'000;

// Begins a node's session, under an epoch above all earlier ones. What an earlier session of it had
// reserved and not committed, its locks and holds end. `ttl_ms` from now on by the lease
// clock, 1 to kMaxSessionTtlMs.
Result<NodeRef> begin_session(Operation& op, const std::string& node, std::int64_t ttl_ms);

struct SessionRenewal {
  std::int64_t ttl_ms = 0;
  // The node has taken note of all changes up to here (change.h).
  std::int64_t position = 0;
  // Retired or orphaned objects that it still needs, for handles that are open; at most 100,000.
  std::vector<ObjectId> holds;
};
// kLeaseLost once it has expired or ended: the node drops its locks and caches and begins anew.
Status renew_session(Operation& op, const NodeRef& ref, const SessionRenewal& renewal);

// Ends it now, in an orderly way or because it has expired. Not an error if it has ended.
Status end_session(Operation& op, const NodeRef& ref);
// Ends the sessions that have expired, at most `limit`; returns how many.
Result<std::int64_t> end_expired_sessions(Operation& op, std::int64_t limit);

// kLeaseLost if it is not the node's present session, or has expired.
Status check_session(Operation& op, const NodeRef& ref);

}  // namespace loam::meta
