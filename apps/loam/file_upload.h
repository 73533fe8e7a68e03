// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "loam/client.h"
#include "loam/progress_bar.h"

namespace loam::cli {

struct FileUpload {
  std::string path;   // of the API, as for ApiClient
  std::string local;  // the file
  std::int64_t size = 0;
  net::Headers headers;
};

// PUTs a file, streaming it, and tries again where that may help. A file that turns out shorter
// than `size` is kDataCorrupt. Returns what the server says.
Result<Json> put_file(const ApiClient& client, const FileUpload& upload, ProgressBar& bar);

}  // namespace loam::cli
