// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "meta/node_session.h"

namespace loam::meta {

// Advisory locks. The two kinds do not see one another, as on Linux. Stored as these numbers.
enum class LockKind : std::int64_t {
  kFlock = 1,  // of whole files: use {0, INT64_MAX}
  kRange = 2,  // of byte ranges, as by fcntl
};

// The bytes from `first` to `last`, both included. An owner is whatever its node tells apart: an
// open file for flock, a process for ranges.
struct LockRange {
  LockKind kind = LockKind::kFlock;
  std::int64_t owner = 0;
  std::int64_t first = 0;
  std::int64_t last = INT64_MAX;
};

struct LockHolder {
  std::string node;
  LockRange range;
  bool exclusive = false;
};

// Who stands in the way of this lock, if anybody does. A lock holds as long as its node's session.
Result<std::optional<LockHolder>> conflicting_lock(Operation& op, const NodeRef& ref,
                                                   std::int64_t inode, const LockRange& range,
                                                   bool exclusive);
// Takes the lock, in place of what the same owner has of the range; never waits. kConflict if
// another owner's stands in the way, and nothing has changed then; kLeaseLost, kNotFound.
Status take_lock(Operation& op, const NodeRef& ref, std::int64_t inode, const LockRange& range,
                 bool exclusive);
// Gives back what the owner has of the range; not an error if that is nothing.
Status release_lock(Operation& op, const NodeRef& ref, std::int64_t inode, const LockRange& range);

}  // namespace loam::meta
