// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/units.h"

namespace loam::agent {

struct LogLimits {
  std::int64_t bytes_per_second = 256 * kKiB;
  std::int64_t burst_bytes = 1 * kMiB;
  std::int64_t total_bytes = 100 * kMiB;
};

// Decides which bytes of an attempt's output are kept: a token bucket and a total. Pure; time is a
// parameter.
//
// Once bytes are dropped, dropping goes on until a fair part of the burst is there again and a line
// begins, so that a flood leaves a few long gaps instead of thousands of shreds.
class LogLimiter {
 public:
  // Of the bytes offered, the first `skip` and those after `skip + keep` are dropped.
  struct Admission {
    std::size_t skip = 0;
    std::size_t keep = 0;
  };

  LogLimiter(const LogLimits& limits, std::int64_t now_us);
  Admission admit(std::string_view bytes, std::int64_t now_us);
  // True when nothing will ever be kept again.
  bool exhausted() const { return total_left_ <= 0; }

 private:
  LogLimits limits_;
  std::int64_t resume_bytes_;
  double tokens_;
  std::int64_t total_left_;
  std::int64_t last_us_;
  bool dropping_ = false;
};

}  // namespace loam::agent
