// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "object/object_store.h"

namespace loam::object {

// A store by its URL: "s3://bucket/prefix?endpoint=…" (docs/STORES.md), "dir:/path" or a path. A
// directory is made if it is missing. Any other scheme is kUnimplemented.
Result<std::unique_ptr<ObjectStore>> open_store(const std::string& url);

}  // namespace loam::object
