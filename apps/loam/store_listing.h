// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loam/client.h"

namespace loam::cli {

struct StoreObject {
  std::string path;  // "/datasets/emoji/0.mds"
  std::int64_t size = 0;
  std::string modified;  // as the server writes times
};

struct StoreListing {
  std::vector<StoreObject> objects;
  std::vector<std::string> directories;  // each with a trailing '/'; only if not recursive
};

inline constexpr std::size_t kMaxListedObjects = 2'000'000;

// What lies below a directory: everything, or the next level only. kTooLarge over
// kMaxListedObjects.
Result<StoreListing> list_directory(const ApiClient& client, const std::string& directory,
                                    bool recursive);

// The object with exactly this path, if there is one.
Result<std::optional<StoreObject>> find_object(const ApiClient& client, const std::string& path);

// True if anything lies below the path.
Result<bool> is_store_directory(const ApiClient& client, const std::string& path);

// "/v1/store/a/b" for "/a/b".
std::string object_url(const std::string& path);

}  // namespace loam::cli
