// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meta/content.h"
#include "meta/node_session.h"

namespace loam::meta {

// New content of a file, whose object was reserved before (object.h) and whose bytes are durable at
// the holders as the directory's durability asks, or in the store already.
struct Commit {
  std::int64_t inode = 0;
  std::int64_t base_generation = 0;  // that the writer began from
  // Refuses the commit where the file has changed since, instead of winning over it.
  bool only_if_unchanged = false;
  ObjectId object;
  std::int64_t object_length = 0;  // bytes
  std::string crcs;                // CRC32C of each block, 4 bytes each; may be empty
  std::int64_t size = 0;           // of the file
  // The whole file, by offset: pieces of the new object, and of objects that a kept generation of
  // this file has.
  std::vector<Extent> extents;
  std::optional<std::int64_t> mtime_ns;  // else now
  std::vector<std::string> holders;      // nodes with a durable copy, at least one
  // Instead of holders: the ETag of the bytes in the store, at the key that start_direct_upload()
  // gave (upload.h).
  std::optional<std::string> stored_etag;
};

struct Committed {
  std::int64_t generation = 0;
  // The file had been changed since base_generation: the last close wins, and what it won over is
  // kept for kKeepOverwrittenMs.
  bool overwrote = false;
};

// Idempotent by the object's id. kLeaseLost if the session that reserved the object is over (the
// bytes are then not part of the tree), kPreconditionFailed for only_if_unchanged, kReadOnly,
// kQuotaExceeded, kNotFound if the object or the inode is unknown, kConflict if the object was
// retired before this call. Nothing changes with an error.
Result<Committed> commit_content(Operation& op, const NodeRef& ref, const Commit& commit);

}  // namespace loam::meta
