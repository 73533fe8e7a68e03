// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "loam/client.h"

namespace loam::cli {

struct LogOptions {
  std::string job;
  std::optional<std::int64_t> attempt;  // else the latest, and with follow_log those after it
};

// Copies the output that has arrived so far to `out`.
Status print_log(const ApiClient& client, const LogOptions& options, std::FILE* out);

// Goes on until the attempt (if one was named) or the job has ended, through hand-overs and
// restarts of the server; nothing is printed twice. Where another attempt begins, a line on stderr
// says so.
Status follow_log(const ApiClient& client, const LogOptions& options, std::FILE* out);

}  // namespace loam::cli
