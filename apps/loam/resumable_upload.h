// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "object/multipart.h"
#include "object/object_store.h"

namespace loam::cli {

// Files from this size on are worth going on with.
inline constexpr std::int64_t kResumableBytes = 64 << 20;

struct ResumableFile {
  std::string local;
  std::string key;
  std::int64_t size = 0;
  std::int64_t modified_ms = 0;
};

// Uploads a large file in parts, and leaves a note about it in
// ${XDG_CACHE_HOME:-~/.cache}/loam/uploads, so that the same command after a crash or Ctrl-C sends
// only the parts that are not there yet. A file that changed in between (size or time) is begun
// anew. `moved` is told about bytes, also those that were there.
Status upload_resumably(object::ObjectStore& store, object::MultipartUploads& uploads,
                        const ResumableFile& file, const std::function<void(std::int64_t)>& moved);

}  // namespace loam::cli
