// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "meta/entry.h"

namespace loam::meta {

// Who and how a new inode is. `mode` is used as it is: the caller has applied its umask.
struct NewInode {
  std::int64_t mode = 0644;
  std::int64_t uid = 0;
  std::int64_t gid = 0;
};

struct Created {
  Attributes attributes;
  bool existed = false;
};

// Makes an empty file. If the name is taken: with `exclusive` kAlreadyExists, else what is there is
// returned if it is a file, and is otherwise kIsDirectory or kAlreadyExists. In a directory with
// the set-group-ID bit the group is the directory's. kNotFound, kNotDirectory: the parent.
// kReadOnly, kQuotaExceeded.
Result<Created> create_file(Operation& op, const Place& place, const NewInode& inode,
                            bool exclusive);
// Makes a FIFO or a socket; kAlreadyExists if the name is taken.
Result<Attributes> make_special(Operation& op, const Place& place, InodeType type,
                                const NewInode& inode);
// An empty directory; it takes on its parent's set-group-ID bit, too.
Result<Attributes> make_directory(Operation& op, const Place& place, const NewInode& inode);

inline constexpr std::size_t kMaxTargetBytes = 4095;
// `target` is any text of 1 to kMaxTargetBytes bytes without NUL.
Result<Attributes> make_symlink(Operation& op, const Place& place, const std::string& target,
                                const NewInode& inode);
// kInvalidArgument if the inode is no symbolic link.
Result<std::string> read_symlink(db::Session& session, std::int64_t inode);

}  // namespace loam::meta
