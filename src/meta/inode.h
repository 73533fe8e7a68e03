// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "meta/operation.h"

namespace loam::meta {

inline constexpr std::int64_t kRootInode = 1;

// Stored as these numbers.
enum class InodeType : std::int64_t {
  kFile = 1,
  kDirectory = 2,
  kSymlink = 3,
  kFifo = 4,
  kSocket = 5,
};

// What stat shows. `size` is in bytes: a symbolic link's is its target's length, a directory's 0.
// Times are nanoseconds since the Unix epoch; atime is mtime until it is set.
struct Attributes {
  std::int64_t inode = 0;
  InodeType type = InodeType::kFile;
  std::int64_t mode = 0;  // permission bits, 07777
  std::int64_t uid = 0;
  std::int64_t gid = 0;
  std::int64_t nlink = 0;  // of a directory: 2 and one for each directory in it
  std::int64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::int64_t atime_ns = 0;
  std::int64_t generation = 0;  // of the content; each commit of new content adds one
  std::int64_t home = 0;        // the dentry at which it is counted; 0: the root, or no entry left

  bool is_directory() const { return type == InodeType::kDirectory; }
};

// The columns of `inode i` that attributes_from() reads, from `first` on.
inline constexpr std::string_view kAttributeColumns =
    "i.id, i.type, i.mode, i.uid, i.gid, i.nlink, i.size, i.mtime_ns, i.ctime_ns, i.atime_ns, "
    "i.generation, i.home";
inline constexpr std::size_t kAttributeCount = 12;
Attributes attributes_from(const db::Row& row, std::size_t first = 0);

// The number of bits of a size: files of class n are shorter than 2^n and, but for 0, at least
// 2^(n-1) bytes long.
std::int64_t size_class(std::int64_t size);

// kNotFound if there is no such inode (any more).
Result<Attributes> getattr(db::Session& session, std::int64_t inode);
// The same; kNotDirectory if it is something else.
Result<Attributes> get_directory(db::Session& session, std::int64_t inode);

// A row for a new inode with these attributes.
Status insert_inode(Operation& op, const Attributes& attributes);
// Sets mtime and ctime of a directory whose entries have changed; `subdirectories` is how many
// directories came (or went, below 0).
Status touch_directory(Operation& op, std::int64_t directory, std::int64_t subdirectories = 0);

}  // namespace loam::meta
