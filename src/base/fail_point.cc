// SPDX-License-Identifier: Apache-2.0
#include "base/fail_point.h"

#include <atomic>
#include <csignal>
#include <cstdlib>

namespace loam {

namespace {

std::int64_t limit_from(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
}

}  // namespace

void crash_point() {
  static const std::int64_t at = limit_from("LOAM_CRASH_AT_WRITE");
  static std::atomic<std::int64_t> reached{0};
  if (at > 0 && ++reached == at) std::raise(SIGKILL);
}

void crash_point_bytes(std::int64_t bytes) {
  static const std::int64_t at = limit_from("LOAM_CRASH_AT_BYTE");
  static std::atomic<std::int64_t> passed{0};
  if (at > 0 && (passed += bytes) >= at) std::raise(SIGKILL);
}

}  // namespace loam
