// SPDX-License-Identifier: Apache-2.0
#include "loam/time_text.h"

#include <fmt/format.h>

#include "base/iso_time.h"

namespace loam::cli {

std::string age_text(std::string_view utc, std::int64_t now_ms) {
  const auto at = parse_iso_time(utc);
  if (!at) return std::string(utc);
  const std::int64_t seconds = (now_ms - *at) / 1'000;
  if (seconds < 1) return "now";
  if (seconds < 120) return fmt::format("{} s ago", seconds);
  if (seconds < 2 * 3'600) return fmt::format("{} min ago", seconds / 60);
  if (seconds < 2 * 86'400) return fmt::format("{} h ago", seconds / 3'600);
  return fmt::format("{} d ago", seconds / 86'400);
}

std::string clock_text(std::string_view utc) {
  return parse_iso_time(utc) ? std::string(utc.substr(11, 8)) : "--:--:--";
}

}  // namespace loam::cli
