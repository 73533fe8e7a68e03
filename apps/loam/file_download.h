// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "loam/client.h"
#include "loam/partial_file.h"
#include "loam/progress_bar.h"

namespace loam::cli {

// GETs `url` (of the API, as for ApiClient) into a file beside `local`, and tries again where that
// may help: what arrived of a broken try is thrown away. The caller looks at it and keeps it.
Result<std::unique_ptr<PartialFile>> get_file(const ApiClient& client, const std::string& url,
                                              const std::string& local, ProgressBar& bar);

// GETs `url` to stdout.
Status print_file(const ApiClient& client, const std::string& url);

}  // namespace loam::cli
