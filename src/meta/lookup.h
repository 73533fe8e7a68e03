// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "meta/entry.h"

namespace loam::meta {

struct Found {
  Attributes attributes;
  Place place;           // its entry; {0, ""} if no name was asked for
  std::size_t used = 0;  // names that led there
};

// Walks `names` down from `directory` in one call and never follows a symbolic link. If one stands
// where more names follow, it is what is found, and `used` tells how many names led to it: the
// caller resolves its target (read_symlink()) by its own rules and goes on with the rest. A last
// name's link is found as any other inode. Neither "." nor ".." may be among the names.
// kNotFound, kNotDirectory as stat says; no permission is checked.
Result<Found> lookup(db::Session& session, std::int64_t directory,
                     std::span<const std::string> names);
// From the root, a path as split_path() takes it.
Result<Found> lookup_path(db::Session& session, std::string_view path);

}  // namespace loam::meta
