// SPDX-License-Identifier: Apache-2.0
#include "object/store_url.h"

#include <fmt/format.h>

#include "base/redact.h"
#include "io/file.h"
#include "object/dir_store.h"
#include "object/s3_options.h"
#include "object/s3_store.h"

namespace loam::object {

Result<std::unique_ptr<ObjectStore>> open_store(const std::string& url) {
  if (url.starts_with("s3://")) {
    S3Options options = TRY(parse_s3_url(url, process_environment()));
    return std::unique_ptr<ObjectStore>(TRY(S3Store::open(std::move(options))));
  }
  const std::string path = url.starts_with("dir:") ? url.substr(4) : url;
  if (path.find("://") != std::string::npos) {
    return fail(ErrorCode::kUnimplemented,
                fmt::format("the store '{}' is of a kind that this version does not have; give a "
                            "directory or s3://bucket/prefix",
                            redacted(path)));
  }
  TRY_VOID(io::make_directories(path));
  return std::unique_ptr<ObjectStore>(TRY(DirStore::open(path)));
}

}  // namespace loam::object
