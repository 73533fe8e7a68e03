// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_server.h"

namespace loam::net {

// One part of a pattern between slashes. The order of the kinds is the order of preference.
struct PatternSegment {
  enum class Kind { kLiteral, kName, kRest };
  Kind kind = Kind::kLiteral;
  std::string text;  // the literal, or the name
};

struct Route {
  std::string method;
  std::string pattern;
  RouteOptions options;
  Handler handler;  // one of the two is set
  StreamHandler stream_handler;
  std::vector<PatternSegment> segments;
};

struct RouteMatch {
  const Route* route = nullptr;
  std::map<std::string, std::string> params;
  std::string allow;  // where no route has the method but some have the path: "GET, HEAD, PUT"
};

// Routes in order of preference: at the first segment that differs a literal goes before a name and
// a name before the rest. Read-only once the server runs, so any thread may match.
struct Router::Impl {
  std::vector<std::unique_ptr<Route>> preferred;
  std::vector<std::pair<std::string, std::string>> listed;

  void add(std::unique_ptr<Route> route);
  // `raw_path` is still percent-encoded and known to decode.
  RouteMatch match(std::string_view method, std::string_view raw_path) const;
};

}  // namespace loam::net
