// SPDX-License-Identifier: Apache-2.0
#include "agent/progress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <re2/re2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "io/file.h"

namespace loam::agent {

namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Python writes 12.0 where it means 12; a fraction is no step.
std::optional<std::int64_t> step_of(const Json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (!(std::abs(number) < 9e15) || std::floor(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::int64_t microseconds_of(const Json& object, std::string_view key) {
  constexpr double kMaxSeconds = 1e9;
  const auto seconds = json_number(object, key, 0.0);
  if (!seconds || !(*seconds > 0)) return 0;
  return static_cast<std::int64_t>(std::min(*seconds, kMaxSeconds) * 1e6);
}

}  // namespace

StepMatcher::StepMatcher(StepMatcher&&) noexcept = default;
StepMatcher::~StepMatcher() = default;

Result<StepMatcher> StepMatcher::create(const std::string& pattern) {
  StepMatcher matcher;
  if (pattern.empty()) return matcher;
  RE2::Options options;
  options.set_log_errors(false);
  matcher.pattern_ = std::make_unique<RE2>(pattern, options);
  if (!matcher.pattern_->ok()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("the progress pattern '{}' is wrong: {}",
                                                         pattern, matcher.pattern_->error()));
  }
  if (matcher.pattern_->NumberOfCapturingGroups() < 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the progress pattern '{}' has no group that captures the step; write "
                            "it like 'step (\\d+)'",
                            pattern));
  }
  return matcher;
}

void StepMatcher::match(std::string_view line, const OnStep& on_step) const {
  re2::StringPiece captured;
  const re2::StringPiece text(line.data(), line.size());
  if (!RE2::PartialMatch(text, *pattern_, &captured)) return;
  if (const auto step = whole_number({captured.data(), captured.size()})) on_step(*step);
}

void StepMatcher::feed(std::string_view bytes, const OnStep& on_step) {
  if (!pattern_) return;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    const bool whole = end != std::string_view::npos;
    bytes.remove_prefix(whole ? end + 1 : bytes.size());
    if (whole && partial_.empty()) {
      if (!piece.empty()) match(piece.substr(0, kMaxMatchedLineBytes), on_step);
      continue;
    }
    partial_ += piece.substr(0, kMaxMatchedLineBytes - partial_.size());
    if (whole) finish(on_step);
  }
}

void StepMatcher::finish(const OnStep& on_step) {
  if (!partial_.empty()) match(partial_, on_step);
  partial_.clear();
}

std::optional<ProgressReport> parse_progress(std::string_view content) {
  const auto parsed = parse_json(content);
  if (!parsed) return std::nullopt;
  ProgressReport report;
  if (parsed->is_number()) {
    report.step = step_of(*parsed);
    return report.step ? std::optional(report) : std::nullopt;
  }
  if (!parsed->is_object()) return std::nullopt;
  if (const auto step = parsed->find("step"); step != parsed->end()) report.step = step_of(*step);
  report.data_wait_us = microseconds_of(*parsed, "data_wait_seconds");
  report.checkpoint_us = microseconds_of(*parsed, "checkpoint_seconds");
  return report;
}

std::optional<ProgressReport> ProgressFile::poll() {
  if (path_.empty()) return std::nullopt;
  // O_NONBLOCK: a pipe under this name must not hold up the watchdog. The content is compared, not
  // the time of change, because that is too coarse to tell two writes apart.
  const io::Fd file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat info {};
  if (!file || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  char buffer[4096];
  const ssize_t length = read(file.get(), buffer, sizeof buffer);
  if (length <= 0) return std::nullopt;
  const std::string_view content(buffer, static_cast<std::size_t>(length));
  if (content == last_) return std::nullopt;
  const auto report = parse_progress(content);
  if (report) last_ = content;
  return report;
}

void ProgressReporter::add_step(std::int64_t step, std::int64_t boot_us) {
  if (has_step_ && step == event_.step) return;
  has_step_ = true;
  dirty_ = true;
  event_.step = step;
  // The newest step is always in the list; when there is no room, it takes the place of the last.
  if (event_.steps.size() == kMaxStepsPerEvent) event_.steps.pop_back();
  event_.steps.push_back({step, boot_us});
}

void ProgressReporter::add_report(const ProgressReport& report, std::int64_t boot_us) {
  if (report.step) add_step(*report.step, boot_us);
  const bool changed =
      report.data_wait_us != event_.data_wait_us || report.checkpoint_us != event_.checkpoint_us;
  event_.data_wait_us = report.data_wait_us;
  event_.checkpoint_us = report.checkpoint_us;
  // Without a step there is nothing yet that these times could belong to.
  dirty_ = dirty_ || (changed && has_step_);
}

std::optional<std::int64_t> ProgressReporter::due_us() const {
  if (!dirty_) return std::nullopt;
  return last_sent_us_ + kProgressPeriodUs;
}

ProgressEvent ProgressReporter::pending(std::int64_t now_us) const {
  ProgressEvent out = event_;
  out.boot_us = now_us;
  return out;
}

void ProgressReporter::sent(std::int64_t now_us) {
  dirty_ = false;
  last_sent_us_ = now_us;
  event_.steps.clear();
}

}  // namespace loam::agent
