// SPDX-License-Identifier: Apache-2.0
#include "base/fail_point.h"

#include <atomic>
#include <csignal>
#include <cstdlib>

namespace loam {

namespace {

long crash_at() {
  const char* text = std::getenv("LOAM_CRASH_AT_WRITE");
  return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
}

}  // namespace

void crash_point() {
  static const long at = crash_at();
  static std::atomic<long> reached{0};
  if (at > 0 && ++reached == at) std::raise(SIGKILL);
}

}  // namespace loam
