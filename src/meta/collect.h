// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meta/object_id.h"
#include "meta/operation.h"

namespace loam::meta {

// What has been retired, or has lost its last link, may go when every node with a live session has
// taken note of it (its position has passed the change), none holds it open, and the grace period
// is over. `grace_ms`, by the lease clock, is at least as long as the longest URL that was given
// out.

// Removes orphaned inodes that may go, and retires their objects as of the time when they were
// orphaned; at most `limit`. Returns how many.
Result<std::int64_t> collect_orphans(Operation& op, std::int64_t grace_ms, std::int64_t limit);

struct Collectible {
  ObjectId id;
  std::optional<std::string> key;  // to be deleted from the store, if an upload had begun
};
// Retired objects that may be deleted, oldest first.
Result<std::vector<Collectible>> list_collectible(db::Session& session, std::int64_t lease_ms,
                                                  std::int64_t grace_ms, std::int64_t limit);

// The object's bytes are gone from the store. A plain key stays taken by its row; other rows go.
// Idempotent; kConflict if the object was not retired.
Status finish_deletion(Operation& op, const ObjectId& id);

}  // namespace loam::meta
