// SPDX-License-Identifier: Apache-2.0
#include "base/iso_time.h"

#include <algorithm>
#include <array>
#include <ctime>

namespace loam {

namespace {

// Reads a text from its front; once something is not as it should be, all that follows fails too.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  void literal(std::string_view expected) {
    good_ = good_ && rest_.starts_with(expected);
    if (good_) rest_.remove_prefix(expected.size());
  }
  void skip(std::size_t count) {
    good_ = good_ && rest_.size() >= count;
    if (good_) rest_.remove_prefix(count);
  }
  // Exactly so many digits.
  int digits(std::size_t count) {
    int out = 0;
    for (std::size_t i = 0; i < count; ++i) {
      good_ = good_ && !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9';
      if (!good_) return 0;
      out = out * 10 + (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return out;
  }
  // From 0.
  int month_name() {
    static constexpr std::array<std::string_view, 12> kMonths = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto* const found = std::find(kMonths.begin(), kMonths.end(), rest_.substr(0, 3));
    skip(3);
    good_ = good_ && found != kMonths.end();
    return static_cast<int>(found - kMonths.begin());
  }
  // What stands behind the point, cut to milliseconds.
  std::int64_t fraction_ms() {
    std::int64_t out = 0;
    if (!good_ || !rest_.starts_with('.')) return 0;
    rest_.remove_prefix(1);
    for (std::int64_t unit = 100; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9';
         unit /= 10) {
      out += (rest_[0] - '0') * unit;
      rest_.remove_prefix(1);
    }
    return out;
  }
  bool ended() const { return good_ && rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void read_clock(Reader& reader, std::tm& parts) {
  parts.tm_hour = reader.digits(2);
  reader.literal(":");
  parts.tm_min = reader.digits(2);
  reader.literal(":");
  parts.tm_sec = reader.digits(2);
}

// Nothing for a day that is not in the calendar, or an hour that is not in the day.
std::optional<std::int64_t> milliseconds_of(const std::tm& parts) {
  std::tm normal = parts;
  const std::time_t seconds = ::timegm(&normal);
  if (parts.tm_year < 70 || normal.tm_year != parts.tm_year || normal.tm_mon != parts.tm_mon ||
      normal.tm_mday != parts.tm_mday || normal.tm_hour != parts.tm_hour ||
      normal.tm_min != parts.tm_min || normal.tm_sec != parts.tm_sec) {
    return std::nullopt;
  }
  return std::int64_t{seconds} * 1'000;
}

}  // namespace

std::optional<std::int64_t> parse_iso_time(std::string_view text) {
  Reader reader(text);
  std::tm parts{};
  parts.tm_year = reader.digits(4) - 1900;
  reader.literal("-");
  parts.tm_mon = reader.digits(2) - 1;
  reader.literal("-");
  parts.tm_mday = reader.digits(2);
  reader.literal("T");
  read_clock(reader, parts);
  const std::int64_t fraction = reader.fraction_ms();
  // Some write the zone as an offset, or leave it out; it is always the same.
  if (reader.rest() == "Z") reader.skip(1);
  if (reader.rest() == "+00:00") reader.skip(6);
  if (!reader.ended()) return std::nullopt;
  const auto whole = milliseconds_of(parts);
  if (!whole) return std::nullopt;
  return *whole + fraction;
}

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  Reader reader(text);
  std::tm parts{};
  reader.skip(3);  // the day of the week
  reader.literal(", ");
  parts.tm_mday = reader.digits(2);
  reader.literal(" ");
  parts.tm_mon = reader.month_name();
  reader.literal(" ");
  parts.tm_year = reader.digits(4) - 1900;
  reader.literal(" ");
  read_clock(reader, parts);
  reader.literal(" GMT");
  if (!reader.ended()) return std::nullopt;
  return milliseconds_of(parts);
}

}  // namespace loam
