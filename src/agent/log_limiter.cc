// SPDX-License-Identifier: Apache-2.0
#include "agent/log_limiter.h"

#include <algorithm>

namespace loam::agent {

LogLimiter::LogLimiter(const LogLimits& limits, std::int64_t now_us)
    : limits_(limits),
      resume_bytes_(std::min<std::int64_t>(64 * kKiB, limits.burst_bytes / 2)),
      tokens_(static_cast<double>(limits.burst_bytes)),
      total_left_(limits.total_bytes),
      last_us_(now_us) {}

LogLimiter::Admission LogLimiter::admit(std::string_view bytes, std::int64_t now_us) {
  const double elapsed_s = static_cast<double>(std::max<std::int64_t>(now_us - last_us_, 0)) / 1e6;
  last_us_ = now_us;
  tokens_ = std::min(tokens_ + elapsed_s * static_cast<double>(limits_.bytes_per_second),
                     static_cast<double>(limits_.burst_bytes));
  const auto available = std::min(static_cast<std::int64_t>(tokens_), total_left_);

  Admission out;
  if (dropping_) {
    if (available <= 0 || available < std::min(resume_bytes_, total_left_)) {
      return {bytes.size(), 0};
    }
    // Binary output may have no lines; then it resumes anywhere.
    const std::size_t newline = bytes.find('\n');
    out.skip = newline == std::string_view::npos ? 0 : newline + 1;
    dropping_ = false;
  }
  const std::string_view rest = bytes.substr(out.skip);
  if (static_cast<std::int64_t>(rest.size()) <= available) {
    out.keep = rest.size();
  } else {
    const std::string_view fitting = rest.substr(0, static_cast<std::size_t>(available));
    const std::size_t newline = fitting.rfind('\n');
    out.keep = newline == std::string_view::npos ? fitting.size() : newline + 1;
    dropping_ = true;
  }
  tokens_ -= static_cast<double>(out.keep);
  total_left_ -= static_cast<std::int64_t>(out.keep);
  return out;
}

}  // namespace loam::agent
