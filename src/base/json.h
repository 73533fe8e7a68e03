// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace loam {

using Json = nlohmann::json;

inline constexpr std::size_t kMaxJsonDepth = 64;

// Parses text from outside: bounded nesting, no exceptions, duplicate keys refused.
Result<Json> parse_json(std::string_view text, std::size_t max_depth = kMaxJsonDepth);
// Compact; bytes that are not UTF-8 become U+FFFD instead of an exception.
std::string dump_json(const Json& value);

// Typed access to an object's members. `what` in messages is the key. A missing key is an error in
// the first form and the fallback in the second; a wrong type is always an error.
Result<std::string> json_string(const Json& object, std::string_view key);
Result<std::string> json_string(const Json& object, std::string_view key, std::string fallback);
Result<std::int64_t> json_int(const Json& object, std::string_view key);
Result<std::int64_t> json_int(const Json& object, std::string_view key, std::int64_t fallback);
Result<double> json_number(const Json& object, std::string_view key, double fallback);
Result<bool> json_bool(const Json& object, std::string_view key, bool fallback);

}  // namespace loam
