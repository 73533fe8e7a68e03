// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jobs/workdir.h"
#include "loam/ignore_rules.h"

namespace loam::cli {

// The rules in `root`/.loamignore; none without that file.
Result<IgnoreRules> read_ignore_rules(const std::string& root);

// Every file below `root` that is not ignored, sorted by path, with its content's SHA-256. A link
// to a file counts as that file; a link to a directory is kInvalidArgument, because what it would
// bring along is hard to foresee. Empty directories, sockets and pipes are left out. Stays within
// the server's bounds on files and bytes, else kTooLarge with what to do.
Result<std::vector<jobs::WorkdirFile>> scan_workdir(const std::string& root,
                                                    const IgnoreRules& rules);

std::int64_t total_bytes(const std::vector<jobs::WorkdirFile>& files);

}  // namespace loam::cli
