// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include "base/check.h"
#include "base/encoding.h"
#include "fuzz/targets.h"

namespace loam::fuzz {

namespace {

std::size_t depth_of(const Json& value) {
  if (!value.is_structured()) return 0;
  std::size_t deepest = 0;
  for (const Json& below : value)
    deepest = std::max(deepest, depth_of(below));
  return deepest + 1;
}

// A getter answers with what is there, or refuses; it never turns one type into another.
void check_getters(const Json& object, const std::string& key, const Json& value) {
  const auto text = json_string(object, key);
  CHECK(text.has_value() == value.is_string());
  CHECK(!text || *text == value.get<std::string>());
  const auto whole = json_int(object, key);
  CHECK(!whole || (value.is_number_integer() && Json(*whole) == value));
  CHECK(whole || !value.is_number_integer() || value.is_number_unsigned());
  const bool missing = value.is_null();
  CHECK(json_number(object, key, 0.5).has_value() == (missing || value.is_number()));
  CHECK(json_bool(object, key, true).has_value() == (missing || value.is_boolean()));
  CHECK(json_int(object, key, 7).has_value() == (missing || whole.has_value()));
  CHECK(json_string(object, key, "x").has_value() == (missing || text.has_value()));
}

}  // namespace

void run_json(std::string_view input) {
  const auto parsed = parse_json(input);
  if (!parsed) {
    CHECK(parsed.error().code == ErrorCode::kInvalidArgument && !parsed.error().message.empty());
    return;
  }
  CHECK(depth_of(*parsed) <= kMaxJsonDepth);
  const std::string text = dump_json(*parsed);
  CHECK(is_valid_utf8(text));
  const auto again = parse_json(text);
  CHECK(again.has_value() && *again == *parsed && dump_json(*again) == text);
  // The bound is exact.
  const std::size_t depth = depth_of(*parsed);
  CHECK(parse_json(input, depth).has_value());
  CHECK(depth == 0 || !parse_json(input, depth - 1).has_value());
  if (!parsed->is_object()) return;
  for (const auto& [key, value] : parsed->items())
    check_getters(*parsed, key, value);
}

}  // namespace loam::fuzz
