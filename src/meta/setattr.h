// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "meta/inode.h"
#include "meta/operation.h"

namespace loam::meta {

// Only what is given changes.
struct AttributeChange {
  std::optional<std::int64_t> mode;  // 0 to 07777
  std::optional<std::int64_t> uid;
  std::optional<std::int64_t> gid;
  // Of a file, in bytes: what is beyond goes, what is added reads as zeros. A new generation,
  // unless it is the size already.
  std::optional<std::int64_t> size;
  std::optional<std::int64_t> mtime_ns;
  std::optional<std::int64_t> atime_ns;
};

// Returns the attributes after it. kNotFound, kInvalidArgument; for a size kIsDirectory,
// kQuotaExceeded; kReadOnly where the inode's home, or the directory itself, is sealed.
Result<Attributes> setattr(Operation& op, std::int64_t inode, const AttributeChange& change);

}  // namespace loam::meta
