// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "meta/operation.h"

namespace loam::meta {

// What lies below a directory: `bytes` is the sum of the sizes, `files` the number of inodes of any
// type (as in `df -i`), each counted once at its home. The directory itself is not counted.
//
// It is kept without counting: whoever changes something adds a delta at its directory D. Folding
// adds D's delta to D's usage and hands it to D's parent, one level a round. So D's usage is
// exactly what has been handed to its parent, which is what a rename of D moves; deltas that are
// still at or below D go to the new parent later.
struct Usage {
  std::int64_t bytes = 0;
  std::int64_t files = 0;
};

// Adds a delta at `directory`: something in it came, grew or went.
Status add_usage(Operation& op, std::int64_t directory, const Usage& delta);
// What was counted below `directory` comes under another parent (0: nowhere, it is removed), and so
// does the directory's own inode.
Status move_directory_usage(Operation& op, std::int64_t directory, std::int64_t from,
                            std::int64_t to);

// One round over at most `limit` directories, youngest first since those are mostly deeper. Returns
// for how many; 0 when all is folded.
Result<std::int64_t> fold_usage(Operation& op, std::int64_t limit);
// Rounds until nothing is left: after it, disk_usage() is exact in this transaction.
Status fold_all_usage(Operation& op);

// As last folded, so as old as the caller's folding is; zeros for a directory without a row.
Result<Usage> disk_usage(db::Session& session, std::int64_t directory);

}  // namespace loam::meta
