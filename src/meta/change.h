// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "meta/name.h"
#include "meta/operation.h"

namespace loam::meta {

// What a node's caches of lookups and attributes have to forget. Stored as these numbers.
enum class ChangeKind : std::int64_t {
  kEntry = 1,       // what is at `place`, if anything, is another inode than before
  kAttributes = 2,  // of `inode`
  kContent = 3,     // of `inode`, and its attributes
  kPolicy = 4,      // of the directory `inode` and what lies below it
};

struct Change {
  std::int64_t id = 0;
  ChangeKind kind = ChangeKind::kEntry;
  std::int64_t inode = 0;
  Place place;  // of kEntry
};

// Appends changes under numbers that were taken with take_numbers(), from `first` on.
Status write_changes(Operation& op, std::int64_t first, std::initializer_list<Change> changes);
// The same for one change, whose number is taken here and returned.
Result<std::int64_t> log_change(Operation& op, ChangeKind kind, std::int64_t inode);

struct Changes {
  // The log no longer reaches back to the reader's position (or never got there): it has to drop
  // all that it has cached before it goes on from `position`.
  bool reset = false;
  std::int64_t position = 0;  // to ask from next
  std::vector<Change> changes;
};
// Those after `position`, at most `limit` (1 to 10,000).
Result<Changes> read_changes(db::Session& session, std::int64_t position, std::int64_t limit);

// Forgets all but the last `keep` changes, at most `limit` in this transaction. Returns how many.
Result<std::int64_t> trim_changes(Operation& op, std::int64_t keep, std::int64_t limit);

}  // namespace loam::meta
