// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "loam/client.h"

namespace loam::cli {

// Changes a directory's rules, unless `change` is empty, and prints those that hold then.
Result<int> run_policy(const ClientFlags& flags, const std::string& path, const Json& change,
                       bool json);

}  // namespace loam::cli
