// SPDX-License-Identifier: Apache-2.0
#include "loam/ignore_rules.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <span>

#include "base/encoding.h"

namespace loam::cli {

namespace {

constexpr std::size_t kMaxRules = 1'000;
constexpr std::size_t kMaxPatternBytes = 1'024;

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t slash = path.find('/');
    out.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    path.remove_prefix(slash + 1);
  }
}

bool matches_name(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// "**" takes any number of segments; two of them in a row were made one, which bounds the search.
bool matches_path(std::span<const std::string> pattern, std::span<const std::string> path) {
  if (pattern.empty()) return path.empty();
  if (pattern.front() == "**") {
    // At the end it means what lies below, not the directory itself.
    if (pattern.size() == 1) return !path.empty();
    for (std::size_t skip = 0; skip <= path.size(); ++skip) {
      if (matches_path(pattern.subspan(1), path.subspan(skip))) return true;
    }
    return false;
  }
  return !path.empty() && matches_name(pattern.front(), path.front()) &&
         matches_path(pattern.subspan(1), path.subspan(1));
}

// Spaces at the end are more often a slip than meant.
std::string_view trimmed(std::string_view line) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r'))
    line.remove_suffix(1);
  return line;
}

}  // namespace

Result<IgnoreRules::Rule> IgnoreRules::parse_rule(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes || pattern.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument, "the pattern is too long or holds a NUL byte");
  }
  if (pattern.front() == '!') {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': taking names back with '!' is not supported; name what to leave "
                            "out more precisely",
                            printable(pattern)));
  }
  Rule rule;
  if (pattern.ends_with('/')) {
    rule.directory_only = true;
    pattern.remove_suffix(1);
  }
  rule.anchored = pattern.find('/') != std::string_view::npos;
  if (pattern.starts_with('/')) pattern.remove_prefix(1);
  for (std::string& segment : split(pattern)) {
    if (segment.empty() || segment == "." || segment == "..") {
      return fail(ErrorCode::kInvalidArgument,
                  "a pattern must name something: '.', '..' and '//' do not");
    }
    if (segment == "**" && !rule.segments.empty() && rule.segments.back() == "**") continue;
    rule.segments.push_back(std::move(segment));
  }
  if (std::count(rule.segments.begin(), rule.segments.end(), "**") > 4) {
    return fail(ErrorCode::kInvalidArgument, "a pattern may hold '**' at most four times");
  }
  return rule;
}

Result<IgnoreRules> IgnoreRules::parse(std::string_view text) {
  IgnoreRules out;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    auto rule = parse_rule(line);
    if (!rule) {
      return fail(rule.error().code,
                  fmt::format(".loamignore, line {}: {}", number, rule.error().message));
    }
    out.rules_.push_back(std::move(*rule));
    if (out.rules_.size() > kMaxRules) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format(".loamignore has over {} patterns; use wildcards", kMaxRules));
    }
  }
  return out;
}

bool IgnoreRules::ignores(std::string_view path, bool is_directory) const {
  const std::vector<std::string> segments = split(path);
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    if (rule.directory_only && !is_directory) return false;
    if (!rule.anchored && rule.segments.front() != "**") {
      return matches_name(rule.segments.front(), segments.back());
    }
    return matches_path(rule.segments, segments);
  });
}

}  // namespace loam::cli
