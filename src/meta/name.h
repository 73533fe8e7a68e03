// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace loam::meta {

inline constexpr std::size_t kMaxNameBytes = 255;
inline constexpr std::size_t kMaxPathBytes = 4096;
// At the root of the tree; the store's keys below it are Loam's own.
inline constexpr std::string_view kReservedName = ".loam";

// Where an entry is: a directory's inode, and a name in it.
struct Place {
  std::int64_t parent = 0;
  std::string name;  // bytes
};
std::string to_string(const Place& place);

// kInvalidArgument for an empty name, ".", "..", a '/' or NUL in it; kTooLarge for one that is too
// long.
Status check_name(std::string_view name);
// As check_name(), for an entry that is to be made: the root's reserved name is refused, too.
Status check_new_place(const Place& place);

// "/a//b/" -> {"a", "b"}. Empty segments do not count; "." and ".." are refused, since what they
// mean depends on symbolic links on the way and is the caller's to decide.
Result<std::vector<std::string>> split_path(std::string_view path);

}  // namespace loam::meta
