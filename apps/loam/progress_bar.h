// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace loam::cli {

// "uploading  [#####     ]  50%  1.0 GiB of 2.0 GiB  100.0 MiB/s  10 s left".
std::string progress_text(const std::string& label, std::int64_t done, std::int64_t total,
                          std::chrono::duration<double> elapsed);

// The progress of a transfer on stderr: one line that is redrawn on a terminal; elsewhere one line
// every ten seconds, so that short transfers leave no trace in a log. Any thread.
class ProgressBar {
 public:
  ProgressBar(std::string label, std::int64_t total_bytes);
  // Leaves a terminal's line as it is last, with a line break.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Negative when a try failed and its bytes will come again.
  void add(std::int64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point now);

  const std::string label_;
  const std::int64_t total_;
  const bool terminal_;
  const Clock::time_point started_;
  std::mutex mutex_;
  Clock::time_point drawn_;
  std::int64_t done_ = 0;
  bool shown_ = false;
};

}  // namespace loam::cli
