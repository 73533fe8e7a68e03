// SPDX-License-Identifier: Apache-2.0
#include "net/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/encoding.h"
#include "base/json.h"
#include "base/redact.h"
#include "net/http_server.h"

namespace loam::net {

namespace {

constexpr std::array kAllCodes{
    ErrorCode::kInvalidArgument,   ErrorCode::kUnauthenticated, ErrorCode::kPermissionDenied,
    ErrorCode::kNotFound,          ErrorCode::kAlreadyExists,   ErrorCode::kPreconditionFailed,
    ErrorCode::kConflict,          ErrorCode::kLeaseLost,       ErrorCode::kTooLarge,
    ErrorCode::kResourceExhausted, ErrorCode::kUnavailable,     ErrorCode::kDeadlineExceeded,
    ErrorCode::kDataCorrupt,       ErrorCode::kUnimplemented,   ErrorCode::kCanceled,
    ErrorCode::kInternal,          ErrorCode::kUnprocessable,   ErrorCode::kQuotaExceeded,
    ErrorCode::kNotDirectory,      ErrorCode::kIsDirectory,     ErrorCode::kNotEmpty,
    ErrorCode::kReadOnly,
};

// A body that is not ours (a proxy's page) is quoted up to this length.
constexpr std::size_t kMaxQuotedBody = 200;

Json error_json(const Error& error, int status) {
  return {{"error", error_code_name(error.code)},
          {"message", redacted(error.message)},
          {"code", status}};
}

}  // namespace

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 400;
    case ErrorCode::kUnauthenticated:
      return 401;
    case ErrorCode::kPermissionDenied:
      return 403;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kAlreadyExists:
      return 409;
    case ErrorCode::kPreconditionFailed:
      return 412;
    case ErrorCode::kConflict:
      return 409;
    case ErrorCode::kLeaseLost:
      return 409;
    case ErrorCode::kTooLarge:
      return 413;
    case ErrorCode::kUnprocessable:
      return 422;
    case ErrorCode::kResourceExhausted:
      return 429;
    case ErrorCode::kQuotaExceeded:
      return 507;
    case ErrorCode::kNotDirectory:
      return 409;
    case ErrorCode::kIsDirectory:
      return 409;
    case ErrorCode::kNotEmpty:
      return 409;
    case ErrorCode::kReadOnly:
      return 409;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kDeadlineExceeded:
      return 504;
    case ErrorCode::kDataCorrupt:
      return 500;
    case ErrorCode::kUnimplemented:
      return 501;
    case ErrorCode::kCanceled:
      return 499;  // nginx's "client closed request"; RFC 9110 has none
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

ErrorCode code_from_status(int status, std::string_view error_name) {
  const auto* const named = std::find_if(kAllCodes.begin(), kAllCodes.end(), [&](ErrorCode code) {
    return error_code_name(code) == error_name;
  });
  if (named != kAllCodes.end()) return *named;
  switch (status) {
    case 401:
      return ErrorCode::kUnauthenticated;
    case 403:
      return ErrorCode::kPermissionDenied;
    case 404:
      return ErrorCode::kNotFound;
    case 408:
      return ErrorCode::kDeadlineExceeded;
    case 409:
      return ErrorCode::kConflict;
    case 410:
      return ErrorCode::kNotFound;
    case 412:
      return ErrorCode::kPreconditionFailed;
    case 413:
      return ErrorCode::kTooLarge;
    case 422:
      return ErrorCode::kUnprocessable;
    case 429:
      return ErrorCode::kResourceExhausted;
    case 431:
      return ErrorCode::kTooLarge;
    case 499:
      return ErrorCode::kCanceled;
    case 507:
      return ErrorCode::kQuotaExceeded;
    case 501:
      return ErrorCode::kUnimplemented;
    case 502:
      return ErrorCode::kUnavailable;
    case 503:
      return ErrorCode::kUnavailable;
    case 504:
      return ErrorCode::kDeadlineExceeded;
    default:
      break;
  }
  return status >= 400 && status < 500 ? ErrorCode::kInvalidArgument : ErrorCode::kInternal;
}

Error error_from_response(int status, std::string_view body) {
  if (const Result<Json> json = parse_json(body); json && json->is_object()) {
    const Result<std::string> name = json_string(*json, "error", "");
    const Result<std::string> message = json_string(*json, "message", "");
    if (name && message && !(name->empty() && message->empty())) {
      return Error{code_from_status(status, *name), message->empty() ? *name : *message};
    }
  }
  std::string message = fmt::format("HTTP status {}", status);
  if (!body.empty()) message += ": " + printable(body.substr(0, kMaxQuotedBody));
  return Error{code_from_status(status, ""), std::move(message)};
}

Json error_json(const Error& error) {
  return error_json(error, http_status(error.code));
}

HttpResponse error_response(const Error& error) {
  return error_response(error, http_status(error.code));
}

HttpResponse error_response(const Error& error, int status) {
  return json_response(status, dump_json(error_json(error, status)));
}

HttpResponse json_response(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

}  // namespace loam::net
