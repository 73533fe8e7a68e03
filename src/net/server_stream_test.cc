// SPDX-License-Identifier: Apache-2.0
// Streamed bodies in both directions.
#include <algorithm>
#include <array>
#include <atomic>
#include <latch>

#include "net/test_support.h"

namespace loam::net {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder's tests

constexpr std::int64_t kBig = 64 << 20;

// Byte i of a stream that never repeats within reach, so that a lost, doubled or moved piece shows.
std::byte pattern_at(std::int64_t i) {
  return static_cast<std::byte>(((i * 2654435761) >> 16) ^ (i >> 3));
}

class Pattern {
 public:
  void fill(std::span<std::byte> out) {
    for (std::byte& b : out)
      b = pattern_at(at_++);
  }
  bool matches(std::span<const std::byte> in) {
    return std::all_of(in.begin(), in.end(),
                       [this](std::byte b) { return b == pattern_at(at_++); });
  }
  std::int64_t at() const { return at_; }

 private:
  std::int64_t at_ = 0;
};

class ServerStreamTest : public ServerTest {
 protected:
  ServerStreamTest() {
    router_->add_stream("PUT", "/check", {.max_body_bytes = kBig}, check_body);
    router_->add("GET", "/big", {.lane = Lane::kTransfer},
                 [this](HttpRequest request, ResponderPtr r) {
                   const bool sized = request.query_value("sized").has_value();
                   auto writer = r->start({}, sized ? std::optional(kBig) : std::nullopt);
                   Pattern pattern;
                   std::vector<std::byte> piece(1'000'003);
                   while (pattern.at() < kBig) {
                     piece.resize(std::min<std::size_t>(piece.size(), kBig - pattern.at()));
                     pattern.fill(piece);
                     if (!(*writer)->write(piece)) return;
                   }
                   EXPECT_TRUE((*writer)->finish());
                   ++finished_;
                 });
  }

  static void check_body(HttpRequest, BodyReader& body, ResponderPtr responder) {
    Pattern pattern;
    std::vector<std::byte> buffer(300'000);
    for (;;) {
      const auto n = body.read(buffer);
      if (!n) return responder->send(error_response(n.error()));
      if (*n == 0) break;
      if (!pattern.matches(std::span(buffer).first(*n))) {
        return responder->send(text_response("wrong bytes", 500));
      }
    }
    EXPECT_EQ(*body.read(buffer), 0U);  // the end stays the end
    responder->send(text_response(std::to_string(pattern.at()) + " of " +
                                  std::to_string(body.length().value_or(-1))));
  }

  ClientRequest upload(std::int64_t size) {
    ClientRequest request;
    request.method = "PUT";
    request.url = url("/check");
    request.body_length = size;
    request.body_source = [pattern = Pattern(),
                           size](std::span<std::byte> out) mutable -> Result<std::size_t> {
      const auto n = std::min<std::size_t>(out.size(), size - pattern.at());
      pattern.fill(out.first(n));
      return n;
    };
    return request;
  }

  std::atomic<int> finished_{0};  // downloads whose handler has come to its end
};

TEST_F(ServerStreamTest, UploadsArriveWhole) {
  start();
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{1}, std::int64_t{100'000}, kBig}) {
    const auto response = client_->send(upload(size));
    ASSERT_TRUE(response) << response.error().to_string();
    EXPECT_EQ(response->body, std::to_string(size) + " of " + std::to_string(size));
  }
  EXPECT_EQ(server_->connections(), 1);
  const auto over = client_->send(upload(kBig + 1));
  ASSERT_TRUE(over) << over.error().to_string();
  EXPECT_EQ(over->status, 413);
}

TEST_F(ServerStreamTest, DownloadsArriveWhole) {
  start();
  for (const char* path : {"/big", "/big?sized"}) {
    Pattern pattern;
    ClientRequest request;
    request.url = url(path);
    request.sink = [&](std::span<const std::byte> bytes) -> Status {
      if (!pattern.matches(bytes)) return fail(ErrorCode::kDataCorrupt, "wrong bytes");
      return {};
    };
    const auto response = client_->send(request);
    ASSERT_TRUE(response) << response.error().to_string();
    EXPECT_EQ(pattern.at(), kBig);
    EXPECT_EQ(response->body, "");
  }
  EXPECT_EQ(server_->connections(), 1);
  // The client has the last byte before the handler hears of it; to end the server in between
  // would cut the handler off.
  EXPECT_TRUE(eventually([&] { return finished_ == 2; }));
}

TEST_F(ServerStreamTest, HeadOfAStreamSendsNoBody) {
  start();
  ClientRequest request;
  request.method = "HEAD";
  request.url = url("/big?sized");
  const auto response = client_->send(request);
  ASSERT_TRUE(response) << response.error().to_string();
  EXPECT_EQ(response->headers.get("Content-Length"), std::to_string(kBig));
  // The connection goes on once the handler has finished.
  EXPECT_EQ(get("/other")->status, 404);
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(ServerStreamTest, ManyTransfersAtOnce) {
  start();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const std::int64_t size = (4 << 20) + i;
      const auto response = client_->send(upload(size));
      if (response && response->body == std::to_string(size) + " of " + std::to_string(size))
        ++good;
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(good, 8);
}

TEST_F(ServerStreamTest, AClientThatLeavesMidwayIsNoticed) {
  std::optional<Error> seen;
  std::latch done(1);
  router_->add_stream("PUT", "/watch", {.max_body_bytes = kBig},
                      [&](HttpRequest, BodyReader& body, ResponderPtr responder) {
                        std::byte buffer[1000];
                        for (;;) {
                          const auto n = body.read(buffer);
                          if (n && *n > 0) continue;
                          if (!n) seen = n.error();
                          break;
                        }
                        EXPECT_FALSE(body.read(buffer));  // an error stays one
                        EXPECT_FALSE(responder->connected());
                        responder->send(text_response("to nobody"));
                        done.count_down();
                      });
  start();
  RawSocket socket = raw();
  socket.send("PUT /watch HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc");
  socket.close();
  done.wait();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->code, ErrorCode::kUnavailable);
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(ServerStreamTest, ATruncatedResponseNeverLooksWhole) {
  router_->add("GET", "/cut", {.lane = Lane::kTransfer}, [](HttpRequest request, ResponderPtr r) {
    const bool sized = request.query_value("sized").has_value();
    auto writer = r->start({}, sized ? std::optional(std::int64_t{1000}) : std::nullopt);
    const std::array<std::byte, 500> half{};
    EXPECT_TRUE((*writer)->write(half));
    if (request.query_value("finish")) {
      const Status finished = (*writer)->finish();
      EXPECT_EQ(finished.has_value(), !sized);
    }
  });
  start();
  for (const char* path : {"/cut", "/cut?sized", "/cut?sized&finish"}) {
    const auto response = get(path);
    ASSERT_FALSE(response) << path;
    EXPECT_EQ(response.error().code, ErrorCode::kUnavailable) << response.error().message;
  }
  EXPECT_EQ(get("/cut?finish")->body.size(), 500U);
}

TEST_F(ServerStreamTest, AWriterWaitsForASlowReaderAndGivesUpOnAStalledOne) {
  std::atomic<std::int64_t> written{0};
  std::optional<Error> seen;
  std::latch done(1);
  router_->add("GET", "/flood", {.lane = Lane::kTransfer}, [&](HttpRequest, ResponderPtr r) {
    auto writer = r->start({}, std::nullopt);
    const std::vector<std::byte> piece(64 << 10);
    for (;;) {
      const Status status = (*writer)->write(piece);
      if (!status) {
        seen = status.error();
        break;
      }
      written += static_cast<std::int64_t>(piece.size());
    }
    done.count_down();
  });
  HttpServerOptions options;
  options.body_stall_timeout = milliseconds(300);
  start(options);
  RawSocket socket = RawSocket::connect(server_->port(), 64 << 10);
  socket.send("GET /flood HTTP/1.1\r\nHost: a\r\n\r\n");
  done.wait();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->code, ErrorCode::kDeadlineExceeded) << seen->message;
  EXPECT_LT(written, 16 << 20);  // what the sockets hold, not what the handler had to say
}

TEST_F(ServerStreamTest, AnsweringEarlyEndsTheBody) {
  std::latch done(1);
  router_->add_stream("PUT", "/early", {.max_body_bytes = kBig},
                      [&](HttpRequest, BodyReader& body, ResponderPtr responder) {
                        std::byte buffer[1000];
                        EXPECT_TRUE(body.read(buffer));
                        responder->send(text_response("enough", 409));
                        // Until the answer has gone out, reads may still succeed.
                        EXPECT_TRUE(eventually([&] { return !body.read(buffer); }));
                        done.count_down();
                      });
  start();
  ClientRequest request = upload(kBig);
  request.url = url("/early");
  const auto response = client_->send(request);
  ASSERT_TRUE(response) << response.error().to_string();
  EXPECT_EQ(response->status, 409);
  done.wait();
}

}  // namespace
}  // namespace loam::net
