// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace loam::cli {

// For showing answers of the server to people: what is missing, null or of another kind than
// expected is the fallback, never an error.
std::string text_of(const Json& object, std::string_view key, std::string_view fallback = "");
double number_of(const Json& object, std::string_view key, double fallback = 0);
std::int64_t whole_of(const Json& object, std::string_view key, std::int64_t fallback = 0);
const Json& member_of(const Json& object, std::string_view key);  // null if missing

// Indented; bytes that are not UTF-8 become U+FFFD.
std::string pretty_json(const Json& value);
// The same on stdout, with a line break.
void print_json(const Json& value);

}  // namespace loam::cli
