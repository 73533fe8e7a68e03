// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace loam {
namespace {

using ::testing::HasSubstr;

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(JsonTest, DepthIsBounded) {
  EXPECT_TRUE(parse_json(nested(kMaxJsonDepth)));
  const auto deep = parse_json(nested(kMaxJsonDepth + 1));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(deep.error().message, HasSubstr("nested more than 64 deep"));
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')));
  // Depth is not the number of brackets.
  EXPECT_TRUE(parse_json("[[],[],[[]]]", 3));
  EXPECT_FALSE(parse_json("[[],[],[[]]]", 2));
}

TEST(JsonTest, DuplicateKeysAreRefusedPerObject) {
  const auto twice = parse_json(R"({"a": 1, "b": {"c": 1}, "a": 2})");
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("'a' appears twice"));
  EXPECT_TRUE(parse_json(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})"));
  // Escapes do not hide one.
  EXPECT_FALSE(parse_json(R"({"a": 1, "\u0061": 2})"));
}

TEST(JsonTest, BrokenTextIsAnErrorThatSaysWhere) {
  for (const char* bad : {"", " ", "{", "[1,]", "{\"a\":}", "nul", "'a'", "1 2", "{a:1}", "NaN",
                          "\"\xff\"", "\"\x01\"", "1e999", "[1] x"}) {
    const auto json = parse_json(bad);
    ASSERT_FALSE(json) << bad;
    EXPECT_EQ(json.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_THAT(parse_json("[1,]").error().message, HasSubstr("near byte 4"));
}

TEST(JsonTest, DumpingNeverThrows) {
  EXPECT_EQ(dump_json(Json("a\xff")), "\"a\xef\xbf\xbd\"");
}

TEST(JsonTest, MembersAreTypedAndTheirKeyIsNamed) {
  const Json object = *parse_json(R"({"s": "x", "i": 5, "d": 0.5, "b": true, "n": null,
                                      "big": 18446744073709551615})");
  EXPECT_EQ(json_string(object, "s"), "x");
  EXPECT_EQ(json_int(object, "i"), 5);
  EXPECT_EQ(json_number(object, "d", 0), 0.5);
  EXPECT_EQ(json_number(object, "i", 0), 5.0);
  EXPECT_EQ(json_bool(object, "b", false), true);
  // null and missing are the same.
  EXPECT_EQ(json_string(object, "n", "f"), "f");
  EXPECT_EQ(json_int(object, "none", 7), 7);
  EXPECT_THAT(json_string(object, "n").error().message, HasSubstr("'n' is required"));
  EXPECT_THAT(json_int(object, "d").error().message, HasSubstr("'d' must be a whole number"));
  EXPECT_FALSE(json_int(object, "big"));
  EXPECT_FALSE(json_string(object, "i", "f"));
  EXPECT_FALSE(json_bool(object, "i", false));
  EXPECT_FALSE(json_number(object, "s", 1));
  EXPECT_FALSE(json_string(Json(3), "s"));
}

RC_GTEST_PROP(JsonProperty, SurvivesAnything, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::elementOf(std::string("{}[]\",:0123.eE-+ntf\\u")), rc::gen::arbitrary<char>()));
  const auto json = parse_json(text);
  if (json) RC_ASSERT(parse_json(dump_json(*json)).has_value());
}

}  // namespace
}  // namespace loam
