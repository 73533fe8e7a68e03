// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "loam/client.h"
#include "loam/store_path.h"

namespace loam::cli {

struct FsCopied {
  std::int64_t files = 0;
  std::int64_t bytes = 0;
};

// Copies between this machine and the namespace by the rules of `cp -r`: directories, files and
// symbolic links, with their modes and times. Files go side by side while the source is still being
// listed. Each upload has its CRC32C checked before it becomes visible; each download arrives under
// a temporary name. kInvalidArgument for a directory without `recursive`.
Result<FsCopied> fs_upload(const ApiClient& client, const CopyEnd& from, const CopyEnd& to,
                           bool recursive);
Result<FsCopied> fs_download(const ApiClient& client, const CopyEnd& from, const CopyEnd& to,
                             bool recursive);

}  // namespace loam::cli
