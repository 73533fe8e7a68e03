// SPDX-License-Identifier: Apache-2.0
#include "agent/progress.h"

#include <vector>

#include "agent/gpus.h"
#include "base/check.h"
#include "fuzz/targets.h"

namespace loam::fuzz {

namespace {

// Long patterns and texts only show how quick RE2 is.
constexpr std::size_t kMaxPattern = 64;

// The first line is the pattern, and how the rest is cut up.
void check_matcher(std::string_view pattern, std::string_view output) {
  const std::string text(pattern.substr(0, kMaxPattern));
  auto whole = agent::StepMatcher::create(text);
  if (!whole) {
    CHECK(whole.error().code == ErrorCode::kInvalidArgument);
    return;
  }
  auto pieces = agent::StepMatcher::create(text);
  CHECK(pieces.has_value());
  std::vector<std::int64_t> at_once;
  std::vector<std::int64_t> by_piece;
  const auto note = [&](std::int64_t step) { at_once.push_back(step); };
  const auto note_piece = [&](std::int64_t step) { by_piece.push_back(step); };
  whole->feed(output, note);
  whole->finish(note);
  in_pieces(output, pattern, [&](std::string_view piece) { pieces->feed(piece, note_piece); });
  pieces->finish(note_piece);
  CHECK(at_once == by_piece);
  CHECK(!text.empty() || at_once.empty());
}

void check_file(std::string_view content) {
  const auto report = agent::parse_progress(content);
  if (!report) return;
  // 1e9 seconds, thirty years, is as much as a program can say.
  constexpr std::int64_t kMost = 1'000'000'000'000'000;
  CHECK(report->data_wait_us >= 0 && report->data_wait_us <= kMost);
  CHECK(report->checkpoint_us >= 0 && report->checkpoint_us <= kMost);
}

}  // namespace

void run_progress(std::string_view input) {
  const auto [pattern, output] = split_line(input);
  check_matcher(pattern, output);
  check_matcher(R"(step (\d+))", output);
  check_file(input);
  for (const char c : agent::gpu_class_of(input))
    CHECK(!(c >= 'A' && c <= 'Z') && c != ' ');
}

}  // namespace loam::fuzz
