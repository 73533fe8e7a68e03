// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "net/http_message.h"

namespace loam::net {

// How a response's body is delimited.
struct ResponseFraming {
  bool http_1_1 = true;
  bool keep_alive = true;
  bool chunked = false;
  std::optional<std::int64_t> length;  // none if chunked or ended by closing
};

// The status line and fields of `response`, with the empty line. Content-Length, Transfer-Encoding
// and Connection come from `framing` alone; a field with a line break in it is dropped, as it would
// let whoever chose the value write a response of their own.
std::string response_head(const HttpResponse& response, const ResponseFraming& framing);

// The status that is sent: handlers cannot send interim responses, and what is no status becomes
// 500.
int sent_status(int status);

// 1xx, 204 and 304 never have a body (RFC 9110 section 6.4.1).
bool status_has_body(int status);

}  // namespace loam::net
