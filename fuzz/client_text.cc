// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "base/check.h"
#include "fuzz/targets.h"
#include "loam/ignore_rules.h"
#include "loam/sse.h"
#include "loam/store_path.h"
#include "loam/time_text.h"

namespace loam::fuzz {

namespace {

std::vector<std::string> events_of(std::string_view stream, std::string_view seed) {
  std::vector<std::string> out;
  cli::SseParser parser;
  in_pieces(stream, seed, [&](std::string_view piece) {
    const Status fed = parser.feed(piece, [&](const cli::SseEvent& event) -> Status {
      CHECK(!event.type.empty());
      CHECK(event.id.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
      out.push_back(event.id + "\n" + event.type + "\n" + event.data);
      return {};
    });
    CHECK(fed.has_value());
  });
  out.push_back(parser.last_id());
  return out;
}

void check_ignore_rules(std::string_view path, std::string_view text) {
  const auto rules = cli::IgnoreRules::parse(text);
  if (!rules) {
    CHECK(rules.error().code == ErrorCode::kInvalidArgument ||
          rules.error().code == ErrorCode::kTooLarge);
    return;
  }
  // What is ignored as a file is so as a directory too.
  if (rules->ignores(path, false)) CHECK(rules->ignores(path, true));
}

void check_store_path(std::string_view input) {
  const auto path = cli::parse_store_path(input);
  if (!path) {
    CHECK(path.error().code == ErrorCode::kInvalidArgument);
    return;
  }
  CHECK(path->in_store && path->path.starts_with('/'));
  CHECK(path->path == "/" || !path->path.ends_with('/'));
  const auto again = cli::parse_store_path(cli::store_text(path->path));
  CHECK(again.has_value() && again->path == path->path);
  const auto end = cli::parse_copy_end(cli::store_text(path->path));
  CHECK(end.has_value() && end->in_store && end->path == path->path);
}

}  // namespace

void run_client_text(std::string_view input) {
  const auto [first, rest] = split_line(input);
  CHECK(events_of(rest, first) == events_of(rest, "\x10\x08"));
  check_ignore_rules(first, rest);
  check_store_path(input);
  CHECK(cli::clock_text(input).size() == 8);
  CHECK(!cli::age_text(input, 1'700'000'000'000).empty() || input.empty());
}

}  // namespace loam::fuzz
