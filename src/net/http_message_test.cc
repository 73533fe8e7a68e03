// SPDX-License-Identifier: Apache-2.0
#include "net/http_message.h"

#include <gtest/gtest.h>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/response_head.h"
#include "net/status.h"

namespace loam::net {
namespace {

TEST(HeadersTest, NamesIgnoreCaseAndRepeatsAreKept) {
  Headers headers;
  headers.add("X-A", "1");
  headers.add("x-a", "2");
  headers.add("B", "3");
  EXPECT_EQ(headers.get("x-A"), "1");
  EXPECT_EQ(headers.get("b"), "3");
  EXPECT_FALSE(headers.get("x"));
  EXPECT_EQ(headers.all().size(), 3U);
  headers.set("X-a", "9");
  EXPECT_EQ(headers.get("x-a"), "9");
  EXPECT_EQ(headers.all().size(), 2U);
  headers.set("new", "n");
  EXPECT_EQ(headers.get("NEW"), "n");
}

TEST(HttpRequestTest, FindsTheBearerToken) {
  const auto bearer_of = [](std::string value) {
    HttpRequest request;
    request.headers.add("authorization", std::move(value));
    return request.bearer();
  };
  EXPECT_EQ(bearer_of("Bearer abc"), "abc");
  EXPECT_EQ(bearer_of("bearer   abc  "), "abc");
  EXPECT_FALSE(bearer_of("Basic abc"));
  EXPECT_FALSE(bearer_of("Bearer"));
  EXPECT_FALSE(bearer_of("Bearer   "));
  EXPECT_FALSE(bearer_of("Bearerabc"));
  EXPECT_FALSE(HttpRequest().bearer());
}

TEST(StatusTest, EveryCodeSurvivesTheWayThroughAResponse) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    const Error error{static_cast<ErrorCode>(i), "what happened \"here\""};
    const HttpResponse response = error_response(error);
    EXPECT_EQ(response.status, http_status(error.code));
    const Error back = error_from_response(response.status, response.body);
    EXPECT_EQ(back.code, error.code) << error_code_name(error.code);
    EXPECT_EQ(back.message, error.message);
  }
}

TEST(StatusTest, ForeignResponsesHaveAMeaningToo) {
  EXPECT_EQ(error_from_response(502, "<html>bad gateway").code, ErrorCode::kUnavailable);
  EXPECT_EQ(error_from_response(503, "").code, ErrorCode::kUnavailable);
  EXPECT_EQ(error_from_response(422, "").code, ErrorCode::kUnprocessable);
  EXPECT_EQ(error_from_response(429, "[]").code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(error_from_response(418, "{\"x\":1}").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_from_response(599, "{\"error\":7}").code, ErrorCode::kInternal);
  EXPECT_EQ(error_from_response(302, "").code, ErrorCode::kInternal);
  std::string page(10'000, 'x');
  page[0] = '\x01';
  const Error quoted = error_from_response(500, page);
  EXPECT_LT(quoted.message.size(), 300U);
}

TEST(ResponseHeadTest, DropsFieldsThatCouldSplitTheResponse) {
  HttpResponse response;
  response.headers.add("X-Good", "yes");
  response.headers.add("X-Bad", "a\r\nSet-Cookie: stolen=1");
  response.headers.add("X Bad", "a");
  response.headers.add("", "a");
  response.headers.add("Content-Length", "99");
  response.headers.add("transfer-encoding", "gzip");
  const std::string head = response_head(response, {.length = 3});
  EXPECT_NE(head.find("X-Good: yes\r\n"), std::string::npos);
  EXPECT_EQ(head.find("Set-Cookie"), std::string::npos);
  EXPECT_EQ(head.find("X Bad"), std::string::npos);
  EXPECT_EQ(head.find("99"), std::string::npos);
  EXPECT_EQ(head.find("gzip"), std::string::npos);
  EXPECT_NE(head.find("Content-Length: 3\r\n"), std::string::npos);
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST(JoinUrlTest, HasOneSlash) {
  EXPECT_EQ(join_url("http://h:1", "/a"), "http://h:1/a");
  EXPECT_EQ(join_url("http://h:1/", "/a"), "http://h:1/a");
  EXPECT_EQ(join_url("http://h:1/p//", "a%20b"), "http://h:1/p/a%20b");
}

}  // namespace
}  // namespace loam::net
