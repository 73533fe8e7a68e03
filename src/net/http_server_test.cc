// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.h"

#include "base/json.h"
#include "net/test_support.h"

namespace loam::net {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder's tests

class HttpServerTest : public ServerTest {
 protected:
  HttpServerTest() {
    router_->add("GET", "/hello", {}, [](HttpRequest, ResponderPtr responder) {
      responder->send(text_response("hello"));
    });
    router_->add("GET", "/items/{id}", {}, [](HttpRequest request, ResponderPtr responder) {
      responder->send(
          text_response(request.params["id"] + "|" + request.query_value("q").value_or("none")));
    });
    router_->add(
        "POST", "/echo", {.max_body_bytes = 1000}, [](HttpRequest request, ResponderPtr responder) {
          HttpResponse response = text_response(request.body);
          response.headers.add("X-Type", request.headers.get("Content-Type").value_or("none"));
          responder->send(std::move(response));
        });
    router_->add("GET", "/drop", {}, [](HttpRequest, ResponderPtr) {});
    router_->add("GET", "/throw", {},
                 [](HttpRequest, ResponderPtr) { throw std::runtime_error("a bug in a handler"); });
    router_->add("DELETE", "/items/{id}", {}, [](HttpRequest, ResponderPtr responder) {
      responder->send(text_response("not sent", 204));
    });
  }
};

TEST_F(HttpServerTest, AnswersAndDecodes) {
  start();
  const auto hello = get("/hello");
  ASSERT_TRUE(hello) << hello.error().to_string();
  EXPECT_EQ(hello->status, 200);
  EXPECT_EQ(hello->body, "hello");
  EXPECT_TRUE(hello->headers.get("date"));
  EXPECT_EQ(get("/items/a%2Fb%20c?q=1+2%2B3")->body, "a/b c|1 2+3");
}

TEST_F(HttpServerTest, EchoesBodiesUpToTheBound) {
  start();
  EXPECT_EQ(send_body("POST", "/echo", "")->body, "");
  EXPECT_EQ(send_body("POST", "/echo", "abc")->body, "abc");
  EXPECT_EQ(send_body("POST", "/echo", "abc")->headers.get("X-Type"), "none");
  EXPECT_EQ(send_body("POST", "/echo", std::string(1000, 'x'))->body, std::string(1000, 'x'));
  const auto over = send_body("POST", "/echo", std::string(1001, 'x'));
  ASSERT_TRUE(over);
  EXPECT_EQ(over->status, 413);
  EXPECT_EQ((*parse_json(over->body))["error"], "too_large");
}

TEST_F(HttpServerTest, AHugeBodyIsRefusedWithoutBeingRead) {
  start();
  const auto over = send_body("POST", "/echo", std::string(8 << 20, 'x'));
  ASSERT_TRUE(over) << over.error().to_string();
  EXPECT_EQ(over->status, 413);
}

TEST_F(HttpServerTest, RefusesWhatHasNoRoute) {
  start();
  const auto missing = get("/nothing");
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->status, 404);
  const auto json = parse_json(missing->body);
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["error"], "not_found");
  EXPECT_EQ((*json)["code"], 404);
  EXPECT_EQ(missing->headers.get("Content-Type"), "application/json");

  const auto wrong = send_body("PUT", "/items/3", "x");
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->status, 405);
  EXPECT_EQ(wrong->headers.get("Allow"), "DELETE, GET, HEAD");
}

TEST_F(HttpServerTest, AnswersHeadFromGet) {
  start();
  ClientRequest request;
  request.method = "HEAD";
  request.url = url("/hello");
  const auto head = client_->send(request);
  ASSERT_TRUE(head) << head.error().to_string();
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(head->headers.get("Content-Length"), "5");
  EXPECT_EQ(get("/hello")->body, "hello");
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpServerTest, AHandlerThatGivesUpMeans500) {
  start();
  EXPECT_EQ(get("/drop")->status, 500);
  EXPECT_EQ(get("/throw")->status, 500);
  EXPECT_EQ(get("/hello")->status, 200);
}

TEST_F(HttpServerTest, NoContentHasNoBody) {
  start();
  const auto deleted = send_body("DELETE", "/items/1", "");
  ASSERT_TRUE(deleted) << deleted.error().to_string();
  EXPECT_EQ(deleted->status, 204);
  EXPECT_EQ(deleted->body, "");
  EXPECT_FALSE(deleted->headers.get("Content-Length"));
  EXPECT_EQ(get("/hello")->body, "hello");
}

TEST_F(HttpServerTest, WhatIsNoFinalStatusBecomes500) {
  router_->add("GET", "/status/{n}", {}, [](HttpRequest request, ResponderPtr responder) {
    responder->send(text_response("body", std::stoi(request.params["n"])));
  });
  start();
  for (const char* status : {"100", "0", "-5", "1000"}) {
    const auto response = get(std::string("/status/") + status);
    ASSERT_TRUE(response) << response.error().to_string();
    EXPECT_EQ(response->status, 500);
    EXPECT_EQ(response->body, "body");
  }
  EXPECT_EQ(get("/status/299")->status, 299);
}

TEST_F(HttpServerTest, OneConnectionServesManyRequests) {
  start();
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(get("/hello")->status, 200);
    ASSERT_EQ(get("/nothing")->status, 404);
    ASSERT_EQ(send_body("PUT", "/items/3", std::string(2000, 'x'))->status, 405);
    ASSERT_EQ(send_body("POST", "/echo", std::string(2000, 'x'))->status, 413);
    ASSERT_EQ(send_body("POST", "/echo", "x")->status, 200);
  }
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpServerTest, NamesTheAddressThatItCannotBind) {
  start();
  HttpServerOptions taken;
  taken.port = server_->port();
  const auto second = HttpServer::start(router_, taken);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(second.error().message.find("127.0.0.1:"), std::string::npos);
  HttpServerOptions nonsense;
  nonsense.address = "no.such.address.";
  EXPECT_FALSE(HttpServer::start(router_, nonsense));
}

}  // namespace
}  // namespace loam::net
