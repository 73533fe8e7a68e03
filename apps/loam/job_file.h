// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "loam/client_config.h"

namespace loam::cli {

// Sets "key=value" assignments among the job's parameters. A key that the job file does not declare
// is kInvalidArgument and names the nearest one: a misspelt parameter must not go unnoticed.
Status set_parameters(Json& job, const std::vector<std::string>& assignments);

// {NAME: value} for each name under "secrets", from the environment; kInvalidArgument names one
// that is not set. An empty object if the job has none.
Result<Json> secret_values(const Json& job, const Environment& environment);

// Where the job's work directory is on this machine: "workdir" relative to the job file. Nothing if
// the job has none, or if it is the id of one that was uploaded before.
Result<std::optional<std::string>> workdir_root(const Json& job, const std::string& job_file);

}  // namespace loam::cli
