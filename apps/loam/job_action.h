// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "loam/client.h"

namespace loam::cli {

struct JobAction {
  std::string verb;  // of the API: POST /v1/jobs/<id>/<verb>
  std::string done;  // "canceled"
  Repeat repeat = Repeat::kNever;
};

// Does it to each job and prints one line for each; goes on after one that is refused, and returns
// the first error's exit code. An unreachable server or an interrupt ends it at once.
Result<int> act_on_jobs(const ApiClient& client, const std::vector<std::string>& jobs,
                        const JobAction& action);

}  // namespace loam::cli
