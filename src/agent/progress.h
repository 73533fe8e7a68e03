// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/process_event.h"
#include "base/result.h"

namespace re2 {
class RE2;
}

namespace loam::agent {

inline constexpr std::size_t kMaxMatchedLineBytes = 64 * 1024;

// Finds steps in a program's output. A line ends with '\n' or with '\r', as progress bars write it;
// of a line longer than kMaxMatchedLineBytes only the beginning is matched.
class StepMatcher {
 public:
  // An empty pattern matches nothing. Otherwise it needs a capture group, of which the first is the
  // step, a decimal whole number. kInvalidArgument says what is wrong with it.
  static Result<StepMatcher> create(const std::string& pattern);
  StepMatcher(StepMatcher&&) noexcept;
  ~StepMatcher();

  using OnStep = std::function<void(std::int64_t step)>;
  void feed(std::string_view bytes, const OnStep& on_step);
  // Matches what stands after the last line end.
  void finish(const OnStep& on_step);

 private:
  StepMatcher() = default;
  void match(std::string_view line, const OnStep& on_step) const;

  std::unique_ptr<re2::RE2> pattern_;
  std::string partial_;
};

// What a program says in its progress file; cumulative for its process.
struct ProgressReport {
  std::optional<std::int64_t> step;
  std::int64_t data_wait_us = 0;
  std::int64_t checkpoint_us = 0;
};

// `{"step": 12, "data_wait_seconds": 0.5, "checkpoint_seconds": 2}` or a bare `12`. Nothing when it
// is neither, which is also what a half-written file looks like.
std::optional<ProgressReport> parse_progress(std::string_view content);

// The file that $LOAM_PROGRESS names, read again and again; at most its first 4 KiB.
class ProgressFile {
 public:
  explicit ProgressFile(std::string path) : path_(std::move(path)) {}
  // A report if the content is whole and differs from the last one. Never blocks, whatever the
  // program puts under the name.
  std::optional<ProgressReport> poll();
  bool watched() const { return !path_.empty(); }

 private:
  std::string path_;
  std::string last_;
};

// Gathers steps into progress events, at most one per kProgressPeriodUs; the first after a pause is
// due at once. A step is reported when it differs from the one before: programs count down, restart
// or repeat themselves, and what is progress is for the agent to judge.
class ProgressReporter {
 public:
  static constexpr std::int64_t kProgressPeriodUs = 50'000;

  void add_step(std::int64_t step, std::int64_t boot_us);
  void add_report(const ProgressReport& report, std::int64_t boot_us);
  // When the next event may be sent; nothing if there is none.
  std::optional<std::int64_t> due_us() const;
  // The pending event, which is kept until sent() says that it is on its way.
  ProgressEvent pending(std::int64_t now_us) const;
  void sent(std::int64_t now_us);

 private:
  ProgressEvent event_;
  bool has_step_ = false;
  bool dirty_ = false;
  std::int64_t last_sent_us_ = -kProgressPeriodUs;
};

}  // namespace loam::agent
