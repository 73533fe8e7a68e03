// SPDX-License-Identifier: Apache-2.0
#include "loam/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/units.h"
#include "loam/output.h"
#include "loam/table.h"

namespace loam::cli {

namespace {
constexpr std::size_t kBarWidth = 24;
constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::seconds kPlainLine{10};
}  // namespace

std::string progress_text(const std::string& label, std::int64_t done, std::int64_t total,
                          std::chrono::duration<double> elapsed) {
  const double fraction =
      total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 1;
  const double rate = elapsed.count() > 0
                          ? static_cast<double>(std::max<std::int64_t>(done, 0)) / elapsed.count()
                          : 0;
  std::string out =
      fmt::format("{}  [{:<{}}] {:3.0f}%  {} of {}", label, bar_text(fraction, kBarWidth),
                  kBarWidth, fraction * 100, format_bytes(done), format_bytes(total));
  if (rate >= 1) {
    out += fmt::format("  {}/s", format_bytes(static_cast<std::int64_t>(rate)));
    if (done < total) {
      const double left = static_cast<double>(total - done) / rate;
      out += fmt::format("  {} left",
                         format_duration_us(static_cast<std::int64_t>(std::min(left, 1e9) * 1e6)));
    }
  }
  return out;
}

ProgressBar::ProgressBar(std::string label, std::int64_t total_bytes)
    : label_(std::move(label)),
      total_(total_bytes),
      terminal_(::isatty(STDERR_FILENO) == 1),
      started_(Clock::now()),
      drawn_(started_) {}

ProgressBar::~ProgressBar() {
  if (!shown_) return;
  draw(Clock::now());
  if (terminal_) note("\n");
}

void ProgressBar::add(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  done_ += bytes;
  const auto now = Clock::now();
  if (now - drawn_ < (terminal_ ? Clock::duration(kRedraw) : Clock::duration(kPlainLine))) return;
  draw(now);
}

void ProgressBar::draw(Clock::time_point now) {
  drawn_ = now;
  shown_ = true;
  const std::string text = progress_text(label_, done_, total_, now - started_);
  // On a terminal: back to the start of the line, and away with what a longer text left.
  if (terminal_) {
    note("\r{}\x1b[K", text);
  } else {
    note("{}\n", text);
  }
  flush(stderr);
}

}  // namespace loam::cli
