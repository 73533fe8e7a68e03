// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "meta/entry.h"

namespace loam::meta {

// Removes an entry that is not a directory's; kIsDirectory for one. An inode that loses its home
// gets its oldest other link as home. One that loses its last link stays as an orphan, with nlink
// 0, for those who have it open, until collect_orphans() (collect.h) takes it. kNotFound,
// kNotDirectory, kReadOnly.
Status unlink_entry(Operation& op, const Place& place);
// Removes an empty directory: kNotEmpty, kNotDirectory, kNotFound, kReadOnly.
Status remove_directory(Operation& op, const Place& place);

// The same for an entry that has been found already and may be removed; for rename(). Neither
// checks, touches the parent or logs the entry's change.
Status drop_link(Operation& op, const Dentry& dentry, const Attributes& attributes);
Status drop_directory(Operation& op, const Dentry& dentry);
Result<bool> is_empty(db::Session& session, std::int64_t directory);

}  // namespace loam::meta
