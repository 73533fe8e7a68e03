// SPDX-License-Identifier: Apache-2.0
#include "net/route_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/encoding.h"
#include "net/request_target.h"

namespace loam::net {
namespace {

class RouteTableTest : public ::testing::Test {
 protected:
  void add(std::string method, std::string pattern) {
    router_.add(std::move(method), std::move(pattern), {}, [](HttpRequest, ResponderPtr) {});
  }
  RouteMatch match(std::string_view method, std::string_view path) {
    return router_.impl().match(method, path);
  }
  std::string pattern(std::string_view method, std::string_view path) {
    const RouteMatch found = match(method, path);
    return found.route == nullptr ? "" : found.route->pattern;
  }
  Router router_;
};

TEST_F(RouteTableTest, PrefersLiteralsThenNamesThenTheRest) {
  add("GET", "/{rest...}");
  add("GET", "/v1/{kind}/list");
  add("GET", "/v1/jobs/{id}");
  add("GET", "/v1/jobs/{id}/log");
  add("GET", "/v1/jobs/latest");
  add("GET", "/");
  EXPECT_EQ(pattern("GET", "/"), "/");
  EXPECT_EQ(pattern("GET", "/v1/jobs/latest"), "/v1/jobs/latest");
  EXPECT_EQ(pattern("GET", "/v1/jobs/list"), "/v1/jobs/{id}");
  EXPECT_EQ(pattern("GET", "/v1/nodes/list"), "/v1/{kind}/list");
  EXPECT_EQ(pattern("GET", "/v1/jobs/7/log"), "/v1/jobs/{id}/log");
  EXPECT_EQ(pattern("GET", "/v1/jobs/7/logs"), "/{rest...}");
  EXPECT_EQ(pattern("GET", "/v1/jobs/"), "/{rest...}");
  EXPECT_EQ(match("GET", "/v1/jobs/7").params.at("id"), "7");
  EXPECT_EQ(match("GET", "/x/y//z/").params.at("rest"), "x/y//z/");
}

TEST_F(RouteTableTest, TheRestMayBeEmpty) {
  add("GET", "/files/{path...}");
  EXPECT_EQ(match("GET", "/files").params.at("path"), "");
  EXPECT_EQ(match("GET", "/files/").params.at("path"), "");
  EXPECT_EQ(match("GET", "/files/a%2Fb/c").params.at("path"), "a/b/c");
  EXPECT_EQ(match("GET", "/filesystem").route, nullptr);
}

TEST_F(RouteTableTest, AnotherMethodIsToldWhichOnesThereAre) {
  add("GET", "/a/{x}");
  add("PUT", "/a/b");
  add("POST", "/a/{rest...}");
  EXPECT_EQ(match("DELETE", "/a/b").allow, "GET, HEAD, POST, PUT");
  EXPECT_EQ(match("DELETE", "/a/c").allow, "GET, HEAD, POST");
  EXPECT_EQ(match("DELETE", "/b").allow, "");
  EXPECT_EQ(pattern("HEAD", "/a/b"), "/a/{x}");
  EXPECT_EQ(pattern("POST", "/a/b"), "/a/{rest...}");
}

TEST_F(RouteTableTest, ListsRoutesInOrderOfAddition) {
  add("GET", "/b");
  add("GET", "/a");
  const auto list = router_.list();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].second, "/b");
}

TEST_F(RouteTableTest, BadPatternsAreBugs) {
  EXPECT_DEATH(add("GET", "no-slash"), "CHECK|starts_with");
  EXPECT_DEATH(add("GET", "/{a...}/b"), "");
  EXPECT_DEATH(add("GET", "/{a}/{a}"), "");
  EXPECT_DEATH(add("GET", "/{}"), "");
  EXPECT_DEATH(add("GET", "/x{a}"), "");
  add("GET", "/same/{a}");
  EXPECT_DEATH(add("GET", "/same/{b}"), "");
}

TEST(RequestTargetTest, TakesTheFormsOfATarget) {
  const auto target = parse_target("/a%20b/c?x=1&y=a%26b&flag&&=v&x=2+3");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/a b/c");
  EXPECT_EQ(target->raw_path, "/a%20b/c");
  const std::vector<std::pair<std::string, std::string>> expected{
      {"x", "1"}, {"y", "a&b"}, {"flag", ""}, {"", "v"}, {"x", "2 3"}};
  EXPECT_EQ(target->query, expected);
  EXPECT_EQ(parse_target("http://host:1/p?q=1")->path, "/p");
  EXPECT_EQ(parse_target("http://host")->path, "/");
  for (const char* bad : {"", "*", "a", "/%", "/%1", "/%zz", "/%00", "/?%", "/?a=%g0", "/?a=%00",
                          "http://host?x", "ftp://host/"}) {
    const auto refused = parse_target(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
}

// Any text that has no NUL survives being put into a path segment and a query value.
RC_GTEST_PROP(RequestTargetProperty, EncodingRoundTrips,
              (const std::string& name_in, const std::string& value_in)) {
  std::string name = name_in;
  std::string value = value_in;
  std::erase(name, '\0');
  std::erase(value, '\0');
  RC_PRE(!name.empty());
  Router router;
  router.add("GET", "/x/{name}", {}, [](HttpRequest, ResponderPtr) {});
  const std::string text = "/x/" + percent_encode(name, false) + "?" + percent_encode(name, false) +
                           "=" + percent_encode(value, false);
  const auto target = parse_target(text);
  RC_ASSERT(target.has_value());
  RC_ASSERT(target->query.size() == 1U);
  RC_ASSERT(target->query[0].first == name);
  RC_ASSERT(target->query[0].second == value);
  const RouteMatch match = router.impl().match("GET", target->raw_path);
  RC_ASSERT(match.route != nullptr);
  RC_ASSERT(match.params.at("name") == name);
}

// Whatever bytes come, parsing and matching end without a crash, and what is accepted is sound.
RC_GTEST_PROP(RequestTargetProperty, SurvivesAnything, ()) {
  const auto tail = *rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::elementOf(std::string("/%?&=+.{}02fF:")), rc::gen::arbitrary<char>()));
  Router router;
  for (const char* pattern : {"/", "/{a}", "/{a}/{b}", "/f/{rest...}", "/f/x"}) {
    router.add("GET", pattern, {}, [](HttpRequest, ResponderPtr) {});
  }
  const auto target = parse_target("/" + tail);
  if (!target) return;
  RC_ASSERT(target->path.find('\0') == std::string::npos);
  const RouteMatch match = router.impl().match("GET", target->raw_path);
  for (const auto& [name, value] : match.params) {
    RC_ASSERT(name == "rest" || !value.empty());
  }
}

}  // namespace
}  // namespace loam::net
