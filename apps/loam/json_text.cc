// SPDX-License-Identifier: Apache-2.0
#include "loam/json_text.h"

#include <fmt/format.h>

#include <cstdio>

#include "loam/output.h"

namespace loam::cli {

const Json& member_of(const Json& object, std::string_view key) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  const auto it = object.find(std::string(key));
  return it == object.end() ? kNone : *it;
}

std::string text_of(const Json& object, std::string_view key, std::string_view fallback) {
  const Json& value = member_of(object, key);
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  return std::string(fallback);
}

double number_of(const Json& object, std::string_view key, double fallback) {
  const Json& value = member_of(object, key);
  return value.is_number() ? value.get<double>() : fallback;
}

std::int64_t whole_of(const Json& object, std::string_view key, std::int64_t fallback) {
  const Json& value = member_of(object, key);
  return value.is_number_integer() ? value.get<std::int64_t>() : fallback;
}

std::string pretty_json(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace);
}

void print_json(const Json& value) {
  print("{}\n", pretty_json(value));
}

}  // namespace loam::cli
