// SPDX-License-Identifier: Apache-2.0
// What a server must bear from clients that are broken, slow or hostile.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <thread>

#include "net/test_support.h"

namespace loam::net {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder's tests

class ServerRawTest : public ServerTest {
 protected:
  ServerRawTest() {
    router_->add("GET", "/hello", {}, [](HttpRequest, ResponderPtr responder) {
      responder->send(text_response("hello"));
    });
    router_->add("POST", "/echo", {}, [](HttpRequest request, ResponderPtr responder) {
      responder->send(text_response("<" + request.body + ">"));
    });
    router_->add_stream("PUT", "/ignore", {.max_body_bytes = 1 << 30},
                        [](HttpRequest, BodyReader&, ResponderPtr responder) {
                          responder->send(text_response("ignored"));
                        });
    router_->add_stream("PUT", "/read", {.max_body_bytes = 1 << 20},
                        [](HttpRequest, BodyReader& body, ResponderPtr responder) {
                          std::byte buffer[100];
                          std::size_t total = 0;
                          for (;;) {
                            const auto n = body.read(buffer);
                            if (!n) return responder->send(error_response(n.error()));
                            if (*n == 0) break;
                            total += *n;
                          }
                          responder->send(text_response(std::to_string(total)));
                        });
  }

  static HttpServerOptions quick() {
    HttpServerOptions options;
    options.idle_timeout = milliseconds(200);
    options.request_timeout = milliseconds(200);
    options.body_stall_timeout = milliseconds(200);
    return options;
  }
};

TEST_F(ServerRawTest, BadRequestsGet400AndAreClosed) {
  start();
  for (const std::string& bytes :
       {std::string("nonsense\r\n\r\n"), std::string("GET / HTTP/3.0\r\n\r\n"),
        std::string("GET /hello HTTP/1.1\r\n\r\n"),
        std::string("GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        std::string("GET /%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
        std::string("GET hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
        std::string("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        std::string(
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    RawSocket socket = raw();
    socket.send(bytes);
    const std::string answer = socket.receive_all();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 Bad Request\r\n")) << bytes << "\n" << answer;
    EXPECT_NE(answer.find("\"error\":\"invalid_argument\""), std::string::npos);
    EXPECT_TRUE(socket.ended()) << bytes;
  }
}

TEST_F(ServerRawTest, OversizedHeadersGet431) {
  start();
  RawSocket socket = raw();
  socket.send("GET /hello HTTP/1.1\r\nHost: a\r\nX: " + std::string(40'000, 'x') + "\r\n\r\n");
  EXPECT_TRUE(socket.receive_all().starts_with("HTTP/1.1 431 "));
}

TEST_F(ServerRawTest, RequestsSentAheadAreAnsweredInOrder) {
  start();
  RawSocket socket = raw();
  std::string all;
  for (int i = 0; i < 500; ++i) {
    all += "GET /missing HTTP/1.1\r\nHost: a\r\n\r\n";
    all += "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n" + std::to_string(100 + i);
  }
  std::thread sender([&] { EXPECT_TRUE(socket.send(all)); });
  const std::string got = socket.receive_text("<599>");
  sender.join();
  std::size_t at = 0;
  for (int i = 0; i < 500; ++i) {
    at = got.find("<" + std::to_string(100 + i) + ">", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(ServerRawTest, ExpectContinueIsAnsweredOnlyWhenTheBodyIsWanted) {
  start();
  const std::string expect = "Expect: 100-continue\r\n\r\n";
  {
    RawSocket socket = raw();
    socket.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n" + expect);
    EXPECT_EQ(socket.receive_text("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    socket.send("abc");
    EXPECT_NE(socket.receive_text("<abc>").find("200 OK"), std::string::npos);
  }
  {
    RawSocket socket = raw();
    socket.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 30000000\r\n" + expect);
    const std::string answer = socket.receive_all();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 ")) << answer;
    EXPECT_TRUE(socket.ended());
  }
  {
    RawSocket socket = raw();
    socket.send("PUT /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n" + expect);
    const std::string answer = socket.receive_all();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  }
  {
    RawSocket socket = raw();
    socket.send("PUT /read HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n" + expect);
    EXPECT_EQ(socket.receive_text("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    socket.send("abc");
    EXPECT_NE(socket.receive_text("\r\n\r\n3").find("200 OK"), std::string::npos);
  }
}

TEST_F(ServerRawTest, OldClientsAreServed) {
  start();
  RawSocket once = raw();
  once.send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(once.receive_all().ends_with("\r\n\r\nhello"));
  EXPECT_TRUE(once.ended());
  RawSocket kept = raw();
  for (int i = 0; i < 3; ++i) {
    kept.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_NE(kept.receive_text("hello").find("Connection: keep-alive"), std::string::npos);
  }
}

TEST_F(ServerRawTest, AHalfClosedClientStillGetsItsAnswer) {
  start();
  RawSocket socket = raw();
  socket.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  socket.shutdown_send();
  EXPECT_TRUE(socket.receive_all().ends_with("hello"));
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(ServerRawTest, SlowClientsAreTimedOut) {
  start(quick());
  RawSocket silent = raw();
  EXPECT_EQ(silent.receive_all(), "");
  EXPECT_TRUE(silent.ended());

  RawSocket half_header = raw();
  half_header.send("GET /hello HTTP/1.1\r\nHo");
  EXPECT_TRUE(half_header.receive_all().starts_with("HTTP/1.1 408 "));

  RawSocket half_body = raw();
  half_body.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_TRUE(half_body.receive_all().starts_with("HTTP/1.1 408 "));

  RawSocket half_stream = raw();
  half_stream.send("PUT /read HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  const std::string answer = half_stream.receive_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 504 ")) << answer;
  EXPECT_NE(answer.find("deadline_exceeded"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(ServerRawTest, AHeaderThatDripsInIsTimedOutAllTheSame) {
  start(quick());
  RawSocket socket = raw();
  const auto begin = std::chrono::steady_clock::now();
  socket.send("GET /hello HTTP/1.1\r\n");
  while (socket.send("X: y\r\n") && std::chrono::steady_clock::now() - begin < milliseconds(3000)) {
    std::this_thread::sleep_for(milliseconds(20));
    if (server_->connections() == 0) break;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2900));
}

TEST_F(ServerRawTest, UnreadBodiesAreDrainedWhenShortAndCutOffWhenLong) {
  start();
  RawSocket socket = raw();
  for (int i = 0; i < 3; ++i) {
    socket.send("PUT /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n" +
                std::string(50'000, 'x'));
    EXPECT_NE(socket.receive_text("ignored").find("200 OK"), std::string::npos) << i;
  }
  socket.send(
      "PUT /ignore HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n0\r\n\r\n");
  EXPECT_NE(socket.receive_text("ignored").find("200 OK"), std::string::npos);
  socket.send("PUT /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 900000000\r\n\r\n" +
              std::string(1 << 20, 'x'));
  const std::string last = socket.receive_all();
  EXPECT_NE(last.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(last.ends_with("ignored"));
}

TEST_F(ServerRawTest, AChunkedBodyOverTheBoundIsRefused) {
  start();
  for (const char* path : {"/echo", "/read"}) {
    RawSocket socket = raw();
    const std::string method = path == std::string_view("/echo") ? "POST " : "PUT ";
    socket.send(method + path +
                " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                "5\r\nhello\r\n200000\r\n");
    EXPECT_TRUE(socket.receive_all().starts_with("HTTP/1.1 413 ")) << path;
  }
}

TEST_F(ServerRawTest, TooManyConnectionsAreTurnedAway) {
  HttpServerOptions options;
  options.max_connections = 3;
  start(options);
  std::vector<RawSocket> kept;
  for (int i = 0; i < 3; ++i)
    kept.push_back(raw());
  ASSERT_TRUE(eventually([&] { return server_->connections() == 3; }));
  RawSocket fourth = raw();
  EXPECT_TRUE(fourth.receive_all().starts_with("HTTP/1.1 503 "));
  kept.clear();
  ASSERT_TRUE(eventually([&] { return server_->connections() == 0; }));
  EXPECT_EQ(get("/hello")->body, "hello");
}

TEST_F(ServerRawTest, RandomBytesNeverHurt) {
  start();
  rc::check("garbage is answered or cut off", [&] {
    const auto start_of = *rc::gen::elementOf(std::vector<std::string>{
        "", "GET /hello HTTP/1.1\r\nHost: a\r\n", "POST /echo HTTP/1.1\r\nHost: a\r\n",
        "PUT /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"});
    const auto tail = *rc::gen::container<std::string>(rc::gen::oneOf(
        rc::gen::elementOf(std::string("\r\n: 0aGET/")), rc::gen::arbitrary<char>()));
    RawSocket socket = raw();
    socket.send(start_of + tail + "\r\n\r\n");
    socket.shutdown_send();
    socket.receive_all();
    RC_ASSERT(socket.ended());
  });
  EXPECT_EQ(get("/hello")->body, "hello");
  EXPECT_TRUE(eventually([&] { return server_->connections() <= 1; }));
}

}  // namespace
}  // namespace loam::net
