// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "meta/operation.h"

namespace loam::meta {

// Directories above one another that a walk to the root passes at most. A tree that is deeper (by
// renaming deep trees into one another) is still right, but what needs the walk is refused there.
inline constexpr std::int64_t kMaxDepth = 100'000;

// The head of a statement that begins with the directory '?' and goes up to the root: the rows are
// (dir, depth), depth 0 first. To be followed by what takes rows from `up`.
inline constexpr std::string_view kWithUp =
    "WITH RECURSIVE up (dir, depth) AS (SELECT ?, 0 UNION ALL "
    "SELECT d.parent, up.depth + 1 FROM up JOIN inode i ON i.id = up.dir "
    "JOIN dentry d ON d.id = i.home WHERE up.depth < 100000) ";

// Whether `directory` is `ancestor` or lies below it.
Result<bool> is_within(db::Session& session, std::int64_t directory, std::int64_t ancestor);

// The path of an inode by its home, "/" for the root; kNotFound if it has no entry any more.
Result<std::string> path_of(db::Session& session, std::int64_t inode);

}  // namespace loam::meta
