// SPDX-License-Identifier: Apache-2.0
#include "net/route_table.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/encoding.h"

namespace loam::net {

namespace {

using Kind = PatternSegment::Kind;

// "/a//b" has the segments "a", "" and "b"; "/" has one, empty.
std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> out;
  path.remove_prefix(1);
  for (;;) {
    const std::size_t slash = path.find('/');
    out.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    path.remove_prefix(slash + 1);
  }
}

std::vector<PatternSegment> parse_pattern(std::string_view pattern) {
  CHECK(pattern.starts_with('/'));
  std::vector<PatternSegment> out;
  std::set<std::string> names;
  for (const std::string_view part : split_path(pattern)) {
    CHECK(out.empty() || out.back().kind != Kind::kRest);
    if (!part.starts_with('{')) {
      CHECK(part.find_first_of("{}%") == std::string_view::npos);
      out.push_back({Kind::kLiteral, std::string(part)});
      continue;
    }
    CHECK(part.ends_with('}'));
    std::string_view name = part.substr(1, part.size() - 2);
    const bool rest = name.ends_with("...");
    if (rest) name.remove_suffix(3);
    CHECK(!name.empty() && names.insert(std::string(name)).second);
    out.push_back({rest ? Kind::kRest : Kind::kName, std::string(name)});
  }
  return out;
}

bool before(const Route& a, const Route& b) {
  return std::lexicographical_compare(
      a.segments.begin(), a.segments.end(), b.segments.begin(), b.segments.end(),
      [](const PatternSegment& x, const PatternSegment& y) { return x.kind < y.kind; });
}

bool same_paths(const Route& a, const Route& b) {
  return std::equal(a.segments.begin(), a.segments.end(), b.segments.begin(), b.segments.end(),
                    [](const PatternSegment& x, const PatternSegment& y) {
                      return x.kind == y.kind && (x.kind != Kind::kLiteral || x.text == y.text);
                    });
}

std::string decoded(std::string_view text) {
  Result<std::string> out = percent_decode(text);
  CHECK(out.has_value());
  return std::move(*out);
}

bool segment_matches(const PatternSegment& pattern, std::string_view raw) {
  if (pattern.kind == Kind::kName) return !raw.empty();
  return raw == pattern.text ||
         (raw.find('%') != std::string_view::npos && decoded(raw) == pattern.text);
}

bool matches(const Route& route, const std::vector<std::string_view>& path) {
  const bool rest = route.segments.back().kind == Kind::kRest;
  const std::size_t fixed = route.segments.size() - (rest ? 1 : 0);
  if (rest ? path.size() < fixed : path.size() != fixed) return false;
  for (std::size_t i = 0; i < fixed; ++i) {
    if (!segment_matches(route.segments[i], path[i])) return false;
  }
  return true;
}

std::map<std::string, std::string> params_of(const Route& route,
                                             const std::vector<std::string_view>& path) {
  std::map<std::string, std::string> out;
  for (std::size_t i = 0; i < route.segments.size(); ++i) {
    const PatternSegment& segment = route.segments[i];
    if (segment.kind == Kind::kName) out[segment.text] = decoded(path[i]);
    if (segment.kind != Kind::kRest) continue;
    std::string rest;
    for (std::size_t k = i; k < path.size(); ++k) {
      if (k > i) rest += '/';
      rest += decoded(path[k]);
    }
    out[segment.text] = std::move(rest);
  }
  return out;
}

}  // namespace

void Router::Impl::add(std::unique_ptr<Route> route) {
  route->segments = parse_pattern(route->pattern);
  for (const auto& other : preferred) {
    CHECK(other->method != route->method || !same_paths(*other, *route));
  }
  listed.emplace_back(route->method, route->pattern);
  const auto place = std::upper_bound(preferred.begin(), preferred.end(), route,
                                      [](const auto& a, const auto& b) { return before(*a, *b); });
  preferred.insert(place, std::move(route));
}

RouteMatch Router::Impl::match(std::string_view method, std::string_view raw_path) const {
  const std::vector<std::string_view> path = split_path(raw_path);
  RouteMatch out;
  const Route* for_get = nullptr;
  std::set<std::string> allowed;
  for (const auto& route : preferred) {
    if (!matches(*route, path)) continue;
    if (route->method == method) {
      out.route = route.get();
      break;
    }
    if (route->method == "GET" && for_get == nullptr) for_get = route.get();
    allowed.insert(route->method);
  }
  if (out.route == nullptr && method == "HEAD") out.route = for_get;
  if (out.route != nullptr) {
    out.params = params_of(*out.route, path);
    return out;
  }
  if (for_get != nullptr) allowed.insert("HEAD");
  for (const std::string& name : allowed)
    out.allow += (out.allow.empty() ? "" : ", ") + name;
  return out;
}

Router::Router() : impl_(std::make_unique<Impl>()) {}
Router::~Router() = default;

void Router::add(std::string method, std::string pattern, RouteOptions options, Handler handler) {
  auto route = std::make_unique<Route>();
  route->method = std::move(method);
  route->pattern = std::move(pattern);
  route->options = options;
  route->handler = std::move(handler);
  impl_->add(std::move(route));
}

void Router::add_stream(std::string method, std::string pattern, RouteOptions options,
                        StreamHandler handler) {
  auto route = std::make_unique<Route>();
  route->method = std::move(method);
  route->pattern = std::move(pattern);
  route->options = options;
  route->options.lane = Lane::kTransfer;
  route->stream_handler = std::move(handler);
  impl_->add(std::move(route));
}

std::vector<std::pair<std::string, std::string>> Router::list() const {
  return impl_->listed;
}

}  // namespace loam::net
