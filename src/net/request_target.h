// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace loam::net {

// The target of a request line (RFC 9112 section 3.2), taken apart.
struct RequestTarget {
  std::string
      raw_path;      // still encoded; routes match on this, so that %2F does not split a segment
  std::string path;  // percent-decoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded; '+' is a space, as forms do
};

// Takes origin form ("/a?b=c") and absolute form ("http://host/a"). Errors are kInvalidArgument:
// no leading slash, a bad escape, or a NUL byte.
Result<RequestTarget> parse_target(std::string_view target);

}  // namespace loam::net
