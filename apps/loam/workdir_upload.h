// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jobs/workdir.h"
#include "loam/client.h"

namespace loam::cli {

// Uploads the contents that the server does not have yet, registers the work directory and returns
// its id. Repeating it is safe and cheap.
Result<std::string> upload_workdir(const ApiClient& client, const std::string& root,
                                   const std::vector<jobs::WorkdirFile>& files);

}  // namespace loam::cli
