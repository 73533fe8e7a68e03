// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"

namespace loam::db {

// The common SQL in PostgreSQL's words: '?' outside of quotes becomes $1, $2, …, and in a statement
// that begins with CREATE or ALTER the type TEXT becomes BYTEA, since PostgreSQL's own text holds
// neither NUL nor bytes that are not UTF-8, and does not compare byte by byte.
std::string to_postgres(std::string_view sql);

// Object ids of PostgreSQL's built-in types (catalog pg_type); they never change.
inline constexpr std::uint32_t kBoolType = 16;
inline constexpr std::uint32_t kByteaType = 17;
inline constexpr std::uint32_t kInt8Type = 20;
inline constexpr std::uint32_t kInt2Type = 21;
inline constexpr std::uint32_t kInt4Type = 23;
inline constexpr std::uint32_t kOidType = 26;
inline constexpr std::uint32_t kFloat4Type = 700;
inline constexpr std::uint32_t kFloat8Type = 701;
inline constexpr std::uint32_t kNumericType = 1700;

// The type under which a value is sent; 0, for NULL, leaves it to the server.
std::uint32_t type_of(const Value& value);
// A value's binary form, except for text, which is its own.
std::string binary_of(const Value& value);
// A column of a result in binary form. Whole numbers and booleans are integers, also NUMERIC (what
// sum() gives) if it is whole and fits; anything that is no number is text.
Result<Value> value_from(std::uint32_t type, std::string_view bytes);

}  // namespace loam::db
