// SPDX-License-Identifier: Apache-2.0
#include "object/s3_time.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <string_view>

namespace loam::object {

namespace {

std::optional<std::int64_t> milliseconds_of(std::tm parts) {
  if (parts.tm_mon < 0 || parts.tm_mon > 11 || parts.tm_mday < 1 || parts.tm_mday > 31) return {};
  if (parts.tm_year < 70 || parts.tm_year > 8099) return {};
  const std::time_t seconds = ::timegm(&parts);
  return std::int64_t{seconds} * 1000;
}

}  // namespace

std::optional<std::int64_t> parse_iso_time(const std::string& text) {
  std::tm parts{};
  int read = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &read) != 6) {
    return std::nullopt;
  }
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  const auto whole = milliseconds_of(parts);
  if (!whole) return std::nullopt;
  std::int64_t fraction = 0;
  std::int64_t unit = 100;
  std::string_view rest = std::string_view(text).substr(static_cast<std::size_t>(read));
  if (rest.starts_with('.')) {
    for (rest.remove_prefix(1); !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
         rest.remove_prefix(1)) {
      fraction += (rest[0] - '0') * unit;
      unit /= 10;
    }
  }
  return *whole + fraction;
}

std::optional<std::int64_t> parse_http_date(const std::string& text) {
  static constexpr std::array<std::string_view, 12> kMonths = {
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm parts{};
  std::array<char, 4> month{};
  if (std::sscanf(text.c_str(), "%*3s, %2d %3s %4d %2d:%2d:%2d", &parts.tm_mday, month.data(),
                  &parts.tm_year, &parts.tm_hour, &parts.tm_min, &parts.tm_sec) != 6) {
    return std::nullopt;
  }
  parts.tm_year -= 1900;
  parts.tm_mon = -1;
  for (int i = 0; i < 12; ++i) {
    if (kMonths.at(static_cast<std::size_t>(i)) == month.data()) parts.tm_mon = i;
  }
  return milliseconds_of(parts);
}

}  // namespace loam::object
