// SPDX-License-Identifier: Apache-2.0
#include "loam/exit_code.h"

#include <fmt/format.h>

#include <cstdio>

#include "loam/output.h"

namespace loam::cli {

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnimplemented:
      return kExitUsage;
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
      return kExitUnreachable;
    case ErrorCode::kCanceled:
      return kExitInterrupted;
    default:
      return kExitFailed;
  }
}

int finish(std::string_view what, const Result<int>& result) {
  const bool written = flush(stdout) && std::ferror(stdout) == 0;
  if (result) {
    if (written || reader_gone()) return *result;
    note("loam: {}: writing the output failed; is the disk full?\n", what);
    return kExitFailed;
  }
  const Error& error = result.error();
  if (error.code == ErrorCode::kCanceled) {
    note("loam: {}: interrupted\n", what);
  } else {
    note("loam: {}: {}\n", what, error.message);
  }
  return exit_code_of(error.code);
}

}  // namespace loam::cli
