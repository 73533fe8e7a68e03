// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

namespace loam {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kUnauthenticated:
      return "unauthenticated";
    case ErrorCode::kPermissionDenied:
      return "permission_denied";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kAlreadyExists:
      return "already_exists";
    case ErrorCode::kPreconditionFailed:
      return "precondition_failed";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kLeaseLost:
      return "lease_lost";
    case ErrorCode::kTooLarge:
      return "too_large";
    case ErrorCode::kUnprocessable:
      return "unprocessable";
    case ErrorCode::kResourceExhausted:
      return "resource_exhausted";
    case ErrorCode::kQuotaExceeded:
      return "quota_exceeded";
    case ErrorCode::kNotDirectory:
      return "not_directory";
    case ErrorCode::kIsDirectory:
      return "is_directory";
    case ErrorCode::kNotEmpty:
      return "not_empty";
    case ErrorCode::kReadOnly:
      return "read_only";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kDeadlineExceeded:
      return "deadline_exceeded";
    case ErrorCode::kDataCorrupt:
      return "data_corrupt";
    case ErrorCode::kUnimplemented:
      return "unimplemented";
    case ErrorCode::kCanceled:
      return "canceled";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

bool is_retryable(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kDeadlineExceeded ||
         code == ErrorCode::kResourceExhausted;
}

std::string Error::to_string() const {
  return std::string(error_code_name(code)) + ": " + message;
}

}  // namespace loam
