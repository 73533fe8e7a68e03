// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>

#include "api/node_body.h"
#include "api/object_body.h"
#include "base/check.h"
#include "base/encoding.h"
#include "fuzz/targets.h"
#include "net/request_target.h"
#include "net/response_head.h"
#include "net/route_table.h"
#include "object/object_store.h"

namespace loam::fuzz {

namespace {

// Routes of every kind, so that a path can fit several.
net::Router& router() {
  static net::Router& made = *[] {
    auto* out = new net::Router;
    for (const char* pattern :
         {"/", "/a", "/a/{x}", "/a/b", "/a/{x}/c", "/s/{rest...}", "/s/{x}/t", "/v1/jobs/{job}"}) {
      out->add("GET", pattern, {}, nullptr);
      out->add("POST", pattern, {}, nullptr);
    }
    out->add("PUT", "/s/{rest...}", {}, nullptr);
    return out;
  }();
  return made;
}

// A match gives back the path that was asked for.
void check_match(const net::RequestTarget& target) {
  const net::RouteMatch found = router().impl().match("GET", target.raw_path);
  const net::RouteMatch put = router().impl().match("PUT", target.raw_path);
  CHECK((found.route == nullptr) ==
        (router().impl().match("HEAD", target.raw_path).route == nullptr));
  CHECK(router().impl().match("BREW", target.raw_path).route == nullptr);
  if (found.route == nullptr) {
    CHECK(found.allow.empty() && put.route == nullptr);
    return;
  }
  CHECK(put.route != nullptr || put.allow.find("GET, HEAD") != std::string::npos);
  std::string built;
  for (const net::PatternSegment& segment : found.route->segments) {
    const bool literal = segment.kind == net::PatternSegment::Kind::kLiteral;
    built += "/" + (literal ? segment.text : found.params.at(segment.text));
    CHECK(segment.kind != net::PatternSegment::Kind::kName ||
          !found.params.at(segment.text).empty());
  }
  // "/s" fits "/s/{rest...}" as "/s/" does.
  CHECK(built == target.path || built == target.path + "/");
  CHECK(found.params.size() + 0U == static_cast<std::size_t>(std::count_if(
                                        found.route->segments.begin(), found.route->segments.end(),
                                        [](const net::PatternSegment& segment) {
                                          return segment.kind !=
                                                 net::PatternSegment::Kind::kLiteral;
                                        })));
}

void check_target(std::string_view input) {
  const auto target = net::parse_target(input);
  if (!target) {
    CHECK(target.error().code == ErrorCode::kInvalidArgument);
    return;
  }
  CHECK(target->raw_path.starts_with('/') && target->path.starts_with('/'));
  CHECK(target->path.find('\0') == std::string::npos);
  CHECK(percent_decode(target->raw_path) == target->path);
  for (const auto& [name, value] : target->query)
    CHECK((name + value).find('\0') == std::string::npos);
  check_match(*target);
}

void check_range(std::string_view input) {
  const auto range = api::parse_range(std::string(input));
  if (!range) return;
  CHECK(input.starts_with("bytes="));
  CHECK(range->offset >= 0 && (range->length == -1 || range->length > 0));
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{10}, INT64_MAX}) {
    const auto cut = object::resolve_range(*range, size);
    if (!cut) continue;
    CHECK(cut->offset >= 0 && cut->length >= 0 && cut->offset <= size - cut->length);
  }
}

void check_lease(std::string_view input) {
  const auto lease = api::parse_lease_header(input);
  if (!lease) {
    CHECK(lease.error().code == ErrorCode::kInvalidArgument);
    return;
  }
  CHECK(input.ends_with("." + std::string(lease->token)));
}

// Whatever a handler puts into a header, the response stays one head.
void check_response(std::string_view name, std::string_view value) {
  net::HttpResponse response;
  response.headers.add(std::string(name), std::string(value));
  const std::string head = net::response_head(response, {.length = 5});
  CHECK(head.find("\r\n\r\n") == head.size() - 4);
  const auto lines = std::count(head.begin(), head.end(), '\n');
  CHECK(lines == 4 || lines == 5);
  CHECK(std::count(head.begin(), head.end(), '\r') == lines);
  net::HttpRequest request;
  request.headers.add("authorization", std::string(value));
  const auto token = request.bearer();
  CHECK(!token || (!token->empty() && value.find(*token) != std::string_view::npos));
  CHECK(!token || (token->front() != ' ' && token->back() != ' '));
}

}  // namespace

void run_http_fields(std::string_view input) {
  check_target(input);
  check_range(input);
  check_lease(input);
  const auto [name, value] = split_line(input);
  check_response(name, value);
}

}  // namespace loam::fuzz
