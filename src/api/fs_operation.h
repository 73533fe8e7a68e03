// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "api/fs_body.h"
#include "meta/operation.h"

namespace loam::api {

// A change of the tree as a body asks for it, or a look at it; alone or as part of a batch. The
// answer is the entry afterwards, {} where there is none.
using FsOperation = Result<Json> (*)(const FsCaller& caller, meta::Operation& op, const Json& body);

// "stat", "mkdir", "symlink", "link", "rename", "remove" or "setattr"; null for other names.
FsOperation find_fs_operation(std::string_view name);

}  // namespace loam::api
