// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "meta/inode.h"
#include "meta/name.h"
#include "meta/operation.h"

namespace loam::meta {

// A row that puts an inode at a place. The id grows within a directory: an entry that is made or
// moved into it comes after all that were there, so it serves as readdir's cookie.
struct Dentry {
  std::int64_t id = 0;
  Place place;
  std::int64_t inode = 0;
  bool extra = false;  // a further link of an inode that is counted elsewhere
};

Result<std::optional<Dentry>> find_entry(db::Session& session, const Place& place);
// kNotFound if there is none; kNotDirectory or kNotFound if the parent is the reason.
Result<Dentry> get_entry(db::Session& session, const Place& place);
// The dentry at which an inode other than the root is counted.
Result<Dentry> get_home(db::Session& session, const Attributes& attributes);

Status insert_entry(Operation& op, const Dentry& dentry);
Status remove_entry(Operation& op, const Dentry& dentry);
// Moves it to another place under a new id, and its inode's home with it; sets the inode's ctime.
Status move_entry(Operation& op, const Dentry& dentry, std::int64_t new_id, const Place& to);
// The part of move_entry() that concerns the inode.
Status set_home(Operation& op, const Dentry& dentry, std::int64_t new_id);

}  // namespace loam::meta
