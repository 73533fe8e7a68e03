// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "meta/operation.h"

namespace loam::meta {

inline constexpr std::size_t kMaxXattrName = 255;
inline constexpr std::size_t kMaxXattrValue = 64 << 10;
// Of the names and values of one inode together.
inline constexpr std::int64_t kMaxXattrTotal = 256 << 10;

enum class XattrMode {
  kAny,
  kCreate,   // kAlreadyExists if it is there
  kReplace,  // kNotFound if it is not
};

// kNotFound if the inode, or the attribute, is not there. Bounds are in bytes; kTooLarge beyond.
Result<std::string> get_xattr(db::Session& session, std::int64_t inode, const std::string& name);
Result<std::vector<std::string>> list_xattrs(db::Session& session, std::int64_t inode);
Status set_xattr(Operation& op, std::int64_t inode, const std::string& name,
                 const std::string& value, XattrMode mode = XattrMode::kAny);
Status remove_xattr(Operation& op, std::int64_t inode, const std::string& name);

}  // namespace loam::meta
