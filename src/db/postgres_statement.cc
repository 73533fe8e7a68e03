// SPDX-License-Identifier: Apache-2.0
#include "db/postgres_statement.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace loam::db {

namespace {

// SQLite's words for a table that is one tree of its primary key; PostgreSQL has no such thing.
constexpr std::string_view kRowid = "INTEGER PRIMARY KEY";
constexpr std::string_view kWithoutRowid = " WITHOUT ROWID";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool defines(std::string_view sql) {
  const std::size_t first = sql.find_first_not_of(" \n\t");
  if (first == std::string_view::npos) return false;
  sql.remove_prefix(first);
  return sql.starts_with("CREATE ") || sql.starts_with("ALTER ");
}

std::string big_endian(std::uint64_t value) {
  std::string out(8, '\0');
  for (int i = 7; i >= 0; --i, value >>= 8)
    out[static_cast<std::size_t>(i)] = static_cast<char>(value & 0xff);
  return out;
}

std::uint64_t from_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes)
    value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

std::int64_t small(std::string_view bytes, std::size_t at) {
  return static_cast<std::int16_t>(from_big_endian(bytes.substr(at, 2)));
}

// PostgreSQL's numeric_send: the number of digits, the first one's weight, the sign and the display
// scale, then the digits, all 16 bits wide; a digit is in base 10,000.
Result<Value> numeric(std::string_view bytes) {
  const auto bad = [] { return fail(ErrorCode::kDataCorrupt, "database: a malformed NUMERIC"); };
  if (bytes.size() < 8) return bad();
  const std::int64_t digits = small(bytes, 0);
  const std::int64_t weight = small(bytes, 2);
  const std::int64_t sign = small(bytes, 4);
  if (digits < 0 || bytes.size() != 8 + 2 * static_cast<std::size_t>(digits)) return bad();
  // Below zero there is one more number than above.
  std::int64_t negative = 0;
  double value = 0;
  bool is_whole = (sign == 0 || sign == 0x4000) && weight < 8;
  const std::int64_t most = is_whole ? std::max(digits, weight + 1) : digits;
  for (std::int64_t i = 0; i < most; ++i) {
    const std::int64_t digit = i < digits ? small(bytes, 8 + 2 * static_cast<std::size_t>(i)) : 0;
    value += static_cast<double>(digit) * std::pow(10'000.0, static_cast<double>(weight - i));
    if (i > weight) {
      is_whole = is_whole && digit == 0;
    } else if (is_whole) {
      is_whole = !__builtin_mul_overflow(negative, 10'000, &negative) &&
                 !__builtin_sub_overflow(negative, digit, &negative);
    }
  }
  if (is_whole && sign == 0x4000) return Value(negative);
  if (is_whole && negative != INT64_MIN) return Value(-negative);
  return Value(sign == 0x4000 ? -value : value);
}

}  // namespace

std::string to_postgres(std::string_view sql) {
  const bool types = defines(sql);
  std::string out;
  out.reserve(sql.size() + 16);
  int argument = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < sql.size(); ++i) {
    const char c = sql[i];
    if (c == '\'') quoted = !quoted;
    if (quoted) {
      out += c;
    } else if (c == '?') {
      out += fmt::format("${}", ++argument);
    } else if (types && sql.substr(i, 4) == "TEXT" && (i == 0 || !is_word(sql[i - 1])) &&
               (i + 4 == sql.size() || !is_word(sql[i + 4]))) {
      out += "BYTEA";
      i += 3;
    } else if (types && sql.substr(i).starts_with(kRowid)) {
      out += "BIGINT PRIMARY KEY";
      i += kRowid.size() - 1;
    } else if (types && sql.substr(i).starts_with(kWithoutRowid)) {
      i += kWithoutRowid.size() - 1;
    } else {
      out += c;
    }
  }
  return out;
}

std::uint32_t type_of(const Value& value) {
  struct Visitor {
    std::uint32_t operator()(std::monostate) const { return 0; }
    std::uint32_t operator()(std::int64_t) const { return kInt8Type; }
    std::uint32_t operator()(double) const { return kFloat8Type; }
    std::uint32_t operator()(const std::string&) const { return kByteaType; }
  };
  return std::visit(Visitor{}, value);
}

std::string binary_of(const Value& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(std::int64_t v) const {
      return big_endian(static_cast<std::uint64_t>(v));
    }
    std::string operator()(double v) const { return big_endian(std::bit_cast<std::uint64_t>(v)); }
    std::string operator()(const std::string& v) const { return v; }
  };
  return std::visit(Visitor{}, value);
}

Result<Value> value_from(std::uint32_t type, std::string_view bytes) {
  switch (type) {
    case kBoolType:
      return Value(std::int64_t{bytes != std::string_view("\0", 1)});
    case kInt2Type:
      return Value(std::int64_t{static_cast<std::int16_t>(from_big_endian(bytes))});
    case kInt4Type:
      return Value(std::int64_t{static_cast<std::int32_t>(from_big_endian(bytes))});
    case kOidType:
    case kInt8Type:
      return Value(static_cast<std::int64_t>(from_big_endian(bytes)));
    case kFloat4Type:
      return Value(
          double{std::bit_cast<float>(static_cast<std::uint32_t>(from_big_endian(bytes)))});
    case kFloat8Type:
      return Value(std::bit_cast<double>(from_big_endian(bytes)));
    case kNumericType:
      return numeric(bytes);
    default:
      return Value(std::string(bytes));
  }
}

}  // namespace loam::db
