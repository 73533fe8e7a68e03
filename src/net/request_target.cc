// SPDX-License-Identifier: Apache-2.0
#include "net/request_target.h"

#include <algorithm>

#include "base/encoding.h"

namespace loam::net {

namespace {

// NUL ends a string in every C interface that a path may reach, so none gets in.
Result<std::string> decode(std::string_view text) {
  std::string out = TRY(percent_decode(text));
  if (std::count(out.begin(), out.end(), '\0') > 0) {
    return fail(ErrorCode::kInvalidArgument, "the request target contains a NUL byte");
  }
  return out;
}

Result<std::string> decode_query(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return decode(spaced);
}

// "http://host:port/path" without its first part; the path of "http://host" is "/".
std::string_view strip_authority(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const std::size_t path = target.find_first_of("/?", scheme.size());
    return path == std::string_view::npos ? "/" : target.substr(path);
  }
  return target;
}

}  // namespace

Result<RequestTarget> parse_target(std::string_view target) {
  target = strip_authority(target);
  if (!target.starts_with('/')) {
    return fail(ErrorCode::kInvalidArgument, "the request target must begin with '/'");
  }
  RequestTarget out;
  const std::size_t mark = target.find('?');
  out.raw_path = std::string(target.substr(0, mark));
  out.path = TRY(decode(out.raw_path));
  if (mark == std::string_view::npos) return out;
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    std::string name = TRY(decode_query(pair.substr(0, equals)));
    std::string value = TRY(decode_query(
        equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1)));
    out.query.emplace_back(std::move(name), std::move(value));
  }
  return out;
}

}  // namespace loam::net
