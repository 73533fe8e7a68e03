// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"

namespace loam::cli {

// What the process says when it ends; `loam --help` documents them for scripts.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;         // the job, or what the command was to do, failed
inline constexpr int kExitUsage = 2;          // a wrong argument or job file: it can never succeed
inline constexpr int kExitCanceled = 3;       // the job that was waited for was canceled
inline constexpr int kExitUnreachable = 4;    // no answer from the server
inline constexpr int kExitInterrupted = 130;  // Ctrl-C, as shells have it

// The one mapping from meaning to exit code.
int exit_code_of(ErrorCode code);

// Ends a command: the exit code of `result`, after an error has gone to stderr as
// "loam: <what>: <message>".
int finish(std::string_view what, const Result<int>& result);

}  // namespace loam::cli
