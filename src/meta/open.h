// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meta/content.h"
#include "meta/object.h"
#include "meta/policy.h"

namespace loam::meta {

// Where the bytes of one of a file's objects are.
struct OpenObject {
  Object object;
  std::vector<std::string> holders;  // nodes with a durable copy; empty once it is stored
};

// All that a node needs to read a file, and to write it: one snapshot. It stays readable as long as
// the node holds its objects (node_session.h).
struct OpenFile {
  Attributes attributes;
  std::vector<Extent> extents;
  std::vector<OpenObject> objects;  // each that an extent names, once
  Policies policies;                // of its home; the default if it has none left
};

// kNotFound; kIsDirectory; kInvalidArgument if it is something else than a file.
Result<OpenFile> open_file(db::Session& session, std::int64_t inode);

}  // namespace loam::meta
