// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace loam::net {

// The one mapping between meaning and HTTP status, in both directions. The way back prefers the
// body's "error" name, since several codes share a status.
int http_status(ErrorCode code);
ErrorCode code_from_status(int status, std::string_view error_name);
// {"error", "message", "code"} as in an error's response, for an answer among others.
Json error_json(const Error& error);
// The Error for a response that is not 2xx, from its {"error","message"} where it has them.
Error error_from_response(int status, std::string_view body);

}  // namespace loam::net
