// SPDX-License-Identifier: Apache-2.0
#include "loam/time_text.h"

#include <fmt/format.h>

#include <ctime>

namespace loam::cli {

std::optional<std::int64_t> parse_utc_ms(std::string_view text) {
  const std::string copy(text);
  std::tm parts{};
  const char* rest = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  std::int64_t ms = 0;
  if (*rest == '.') {
    std::int64_t weight = 100;
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, weight /= 10)
      ms += (*rest - '0') * weight;
  }
  if (*rest != 'Z' || rest[1] != '\0') return std::nullopt;
  return std::int64_t{timegm(&parts)} * 1'000 + ms;
}

std::string age_text(std::string_view utc, std::int64_t now_ms) {
  const auto at = parse_utc_ms(utc);
  if (!at) return std::string(utc);
  const std::int64_t seconds = (now_ms - *at) / 1'000;
  if (seconds < 1) return "now";
  if (seconds < 120) return fmt::format("{} s ago", seconds);
  if (seconds < 2 * 3'600) return fmt::format("{} min ago", seconds / 60);
  if (seconds < 2 * 86'400) return fmt::format("{} h ago", seconds / 3'600);
  return fmt::format("{} d ago", seconds / 86'400);
}

std::string clock_text(std::string_view utc) {
  return parse_utc_ms(utc) ? std::string(utc.substr(11, 8)) : "--:--:--";
}

}  // namespace loam::cli
