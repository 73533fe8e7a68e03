// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace loam {

std::string format_bytes(std::int64_t bytes) {
  static constexpr std::array<const char*, 6> kNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kNames[unit]);
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  const std::string suffix(end);
  const auto bad = [&] {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' is not a size; write for example 512, 64K, 100MiB or 1.5G", text));
  };
  if (end == copy.c_str() || !std::isfinite(number) || number < 0) return bad();
  double factor = 1;
  if (!suffix.empty()) {
    const std::size_t power = std::string_view("KMGTP").find(suffix[0]);
    if (suffix == "B") {
      factor = 1;
    } else if (power == std::string_view::npos ||
               (suffix.size() > 1 && suffix.substr(1) != "iB" && suffix.substr(1) != "B")) {
      return bad();
    } else {
      factor = std::pow(1024.0, static_cast<double>(power + 1));
    }
  }
  if (number * factor > 0x1.0p62) return bad();
  return static_cast<std::int64_t>(number * factor);
}

std::string format_duration_us(std::int64_t microseconds) {
  const double seconds = static_cast<double>(microseconds) / 1e6;
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::optional<std::int64_t> parse_whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.front() == '-') {
    return std::nullopt;
  }
  return value;
}

}  // namespace loam
