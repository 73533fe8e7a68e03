// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "meta/inode.h"
#include "meta/object_id.h"
#include "meta/operation.h"

namespace loam::meta {

inline constexpr std::size_t kMaxExtents = 10'000;
// 16 TiB; the sum over half a million such files still is a number of the database.
inline constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 44;
inline constexpr std::int64_t kKeepOverwrittenMs = 24 * 3'600'000;

// A piece of a file that is a piece of an object; what no extent covers reads as zeros. All in
// bytes.
struct Extent {
  std::int64_t file_offset = 0;
  std::int64_t length = 0;
  ObjectId object;
  std::int64_t object_offset = 0;

  friend bool operator==(const Extent&, const Extent&) = default;
};

// Those of one generation, by file offset.
Result<std::vector<Extent>> read_extents(db::Session& session, std::int64_t inode,
                                         std::int64_t generation);

struct Content {
  std::int64_t size = 0;
  std::vector<Extent> extents;
  std::int64_t mtime_ns = 0;
};

// Whether a file may get this size: kTooLarge, kReadOnly where its home is sealed, kQuotaExceeded.
// To be asked before put_content().
Status admit_content(Operation& op, const Attributes& file, std::int64_t size);

// Makes `content` the file's next generation and returns its number. What was there is kept as a
// version to fall back to until everything that is newer is stored, and, if it was `overwritten`
// unseen by who wrote the new one, for kKeepOverwrittenMs. What nothing refers to any more is
// retired.
Result<std::int64_t> put_content(Operation& op, const Attributes& file, const Content& content,
                                 bool overwritten);

// Drops the versions that are not needed any more: those older than the newest generation of which
// every object is stored; at most kMaxUndoVersions others stay. To be called when an object of the
// file has been stored.
Status settle_versions(Operation& op, std::int64_t inode);
inline constexpr std::size_t kMaxUndoVersions = 16;

// Drops overwritten versions that have been kept for long enough, at most `limit`; returns how
// many.
Result<std::int64_t> expire_versions(Operation& op, std::int64_t limit);

// Makes a file of which an object is lost what its newest version without that object was, under a
// new generation, or empty if there is none. Versions that need the object are dropped, and a loss
// is recorded, with the node that had it, if it concerned what the file was. Returns whether it
// did.
Result<bool> roll_back(Operation& op, std::int64_t inode, std::int64_t object,
                       const std::string& node);

// All of an inode's extents go, of every generation, and the objects that are not retired yet are.
Status drop_content(Operation& op, std::int64_t inode);

}  // namespace loam::meta
