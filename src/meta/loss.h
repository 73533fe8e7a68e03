// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meta/operation.h"

namespace loam::meta {

// A node is gone for good, and so is what its drives held: takes back at most `limit` of its copies
// in this transaction. A file of which that was the last copy of an object that is not stored falls
// back to its newest generation without it. Returns how many copies were taken back; to be called
// until that is 0. Whether a node is gone is the caller's decision.
Result<std::int64_t> lose_node(Operation& op, const std::string& node, std::int64_t limit);

struct Loss {
  std::int64_t id = 0;
  std::int64_t inode = 0;
  std::int64_t generation = 0;  // that was lost
  std::optional<std::int64_t>
      restored;            // the generation that came back; nothing: the file is empty
  std::int64_t bytes = 0;  // of the file as it was
  std::string node;
  std::int64_t at_ns = 0;
};
// Oldest first, those after `after`.
Result<std::vector<Loss>> list_losses(db::Session& session, std::int64_t after, std::int64_t limit);

}  // namespace loam::meta
