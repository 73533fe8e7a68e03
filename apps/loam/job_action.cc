// SPDX-License-Identifier: Apache-2.0
#include "loam/job_action.h"

#include <fmt/format.h>

#include <cstdio>

#include "loam/exit_code.h"
#include "loam/json_text.h"
#include "loam/output.h"

namespace loam::cli {

Result<int> act_on_jobs(const ApiClient& client, const std::vector<std::string>& jobs,
                        const JobAction& action) {
  int exit_code = kExitOk;
  for (const std::string& job : jobs) {
    const auto answer =
        client.call("POST", job_path(job, "/" + action.verb), Json(), {.repeat = action.repeat});
    if (answer) {
      print("{} {}\n", job, action.done);
      continue;
    }
    const Error& error = answer.error();
    if (is_retryable(error.code) || error.code == ErrorCode::kCanceled) return fail(error);
    const int code = finish(action.verb + " " + job, fail(error));
    if (exit_code == kExitOk) exit_code = code;
  }
  return exit_code;
}

}  // namespace loam::cli
