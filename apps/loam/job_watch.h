// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

#include "loam/client.h"

namespace loam::cli {

// Follows a job until it has ended: its events as they happen, its phases and steps as they change,
// one line each on `out`. Returns the job as the API shows it. Survives restarts of the server.
Result<Json> watch_job(const ApiClient& client, const std::string& job, std::FILE* out);

bool is_terminal(std::string_view job_status);
// The exit code that tells a script how the job ended.
int exit_code_of_job(const Json& job);

}  // namespace loam::cli
