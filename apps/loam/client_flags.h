// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include "loam/client_config.h"

namespace loam::cli {

// --server, --token-file and --ca-file, which every command that talks to a server has.
void add_client_flags(CLI::App& command, ClientFlags& flags);

}  // namespace loam::cli
