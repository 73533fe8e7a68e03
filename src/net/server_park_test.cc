// SPDX-License-Identifier: Apache-2.0
// Requests that are answered later: long polls and event streams; and the end of a server.
#include <gmock/gmock.h>

#include <future>
#include <latch>
#include <mutex>
#include <vector>

#include "net/test_support.h"

namespace loam::net {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder's tests
using ::testing::HasSubstr;

class ServerParkTest : public ServerTest {
 protected:
  ServerParkTest() {
    router_->add("GET", "/park", {}, [this](HttpRequest, ResponderPtr responder) {
      const std::lock_guard lock(mutex_);
      parked_.push_back(std::move(responder));
    });
    router_->add("GET", "/events", {}, [this](HttpRequest, ResponderPtr responder) {
      const std::lock_guard lock(mutex_);
      streams_.push_back(responder->start_events());
    });
    router_->add("GET", "/hello", {}, [](HttpRequest, ResponderPtr responder) {
      responder->send(text_response("hello"));
    });
  }
  void TearDown() override {
    ServerTest::TearDown();
    parked_.clear();
    streams_.clear();
  }

  bool await_parked(std::size_t n) {
    return eventually([&] {
      const std::lock_guard lock(mutex_);
      return parked_.size() == n;
    });
  }
  std::shared_ptr<EventStream> await_stream() {
    std::shared_ptr<EventStream> out;
    eventually([&] {
      const std::lock_guard lock(mutex_);
      if (!streams_.empty()) out = streams_.back();
      return out != nullptr;
    });
    EXPECT_TRUE(out);
    return out;
  }
  RawSocket ask(const std::string& path) {
    RawSocket socket = raw();
    socket.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
    return socket;
  }

  std::mutex mutex_;
  std::vector<ResponderPtr> parked_;
  std::vector<std::shared_ptr<EventStream>> streams_;
};

TEST_F(ServerParkTest, ManyParkedRequestsHoldNoThread) {
  HttpServerOptions options;
  options.control_threads = 2;
  start(options);
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 300; ++i)
    sockets.push_back(ask("/park"));
  ASSERT_TRUE(await_parked(300));
  EXPECT_EQ(get("/hello")->body, "hello");
  for (std::size_t i = 0; i < parked_.size(); ++i) {
    EXPECT_TRUE(parked_[i]->connected());
    parked_[i]->send(text_response("late"));
    parked_[i]->send(text_response("and again"));  // ignored
  }
  for (RawSocket& socket : sockets) {
    EXPECT_TRUE(socket.receive_text("late").ends_with("\r\n\r\nlate"));
  }
  EXPECT_EQ(server_->connections(), 301);
}

TEST_F(ServerParkTest, AnAnsweredRequestLeavesTheNextOneAlone) {
  start();
  RawSocket socket = ask("/park");
  ASSERT_TRUE(await_parked(1));
  parked_[0]->send(text_response("first"));
  socket.receive_text("first");
  socket.send("GET /park HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(await_parked(2));
  parked_[0]->send(text_response("stale"));
  EXPECT_FALSE(parked_[0]->start({}, std::nullopt));
  EXPECT_FALSE(parked_[0]->start_events()->open());
  parked_[0].reset();
  parked_[1]->send(text_response("second"));
  EXPECT_TRUE(socket.receive_text("second").ends_with("\r\n\r\nsecond"));
}

TEST_F(ServerParkTest, AParkedClientThatLeavesIsNoticed) {
  start();
  RawSocket stays = ask("/park");
  ASSERT_TRUE(await_parked(1));
  {
    RawSocket leaves = ask("/park");
    ASSERT_TRUE(await_parked(2));
    EXPECT_TRUE(parked_[1]->connected());
  }
  EXPECT_TRUE(eventually([&] { return !parked_[1]->connected(); }));
  EXPECT_TRUE(parked_[0]->connected());
  parked_[1]->send(text_response("to nobody"));
  EXPECT_TRUE(eventually([&] { return server_->connections() == 1; }));
  parked_[0].reset();  // dropped unanswered
  EXPECT_THAT(stays.receive_text("}"), HasSubstr("HTTP/1.1 500 "));
}

TEST_F(ServerParkTest, ACanceledClientIsNoticed) {
  start();
  std::atomic<bool> cancel{false};
  ClientRequest request;
  request.url = url("/park");
  request.canceled = [&] { return cancel.load(); };
  auto answer = std::async(std::launch::async, [&] { return client_->send(request); });
  ASSERT_TRUE(await_parked(1));
  EXPECT_TRUE(parked_[0]->connected());
  cancel = true;
  EXPECT_EQ(answer.get().error().code, ErrorCode::kCanceled);
  EXPECT_TRUE(eventually([&] { return !parked_[0]->connected(); }));
}

TEST_F(ServerParkTest, EventsArriveAndTheStreamCanEnd) {
  start();
  std::mutex mutex;
  std::string got;
  ClientRequest request;
  request.url = url("/events");
  request.sink = [&](std::span<const std::byte> bytes) -> Status {
    const std::lock_guard lock(mutex);
    got.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  };
  auto answer = std::async(std::launch::async, [&] { return client_->send(request); });
  const auto stream = await_stream();
  EXPECT_TRUE(stream->send("id: 1\ndata: a\n\n"));
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return got == "id: 1\ndata: a\n\n";
  }));
  std::string all = got;
  for (int i = 0; i < 1000; ++i) {
    const std::string frame = "data: " + std::to_string(i) + "\n\n";
    EXPECT_TRUE(stream->send(frame));
    all += frame;
  }
  stream->close();
  EXPECT_FALSE(stream->open());
  EXPECT_FALSE(stream->send("late"));
  const auto response = answer.get();
  ASSERT_TRUE(response) << response.error().to_string();
  EXPECT_EQ(response->headers.get("Content-Type"), "text/event-stream");
  EXPECT_EQ(got, all);
  EXPECT_EQ(get("/hello")->body, "hello");
  EXPECT_EQ(server_->connections(), 1);  // and the connection serves on
}

TEST_F(ServerParkTest, AClientThatFallsBehindIsDisconnected) {
  start();
  RawSocket socket = RawSocket::connect(server_->port(), 32 << 10);
  socket.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto stream = await_stream();
  const std::string frame = "data: " + std::string(10'000, 'x') + "\n\n";
  std::size_t sent = 0;
  const bool cut = eventually([&] {
    sent += frame.size();
    return !stream->send(frame);
  });
  EXPECT_TRUE(cut);
  EXPECT_FALSE(stream->open());
  EXPECT_GT(sent, 1U << 20);
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(ServerParkTest, AnEventClientThatLeavesIsNoticed) {
  start();
  RawSocket socket = ask("/events");
  const auto stream = await_stream();
  stream->send("data: x\n\n");
  EXPECT_THAT(socket.receive_text("data: x"), HasSubstr("text/event-stream"));
  socket.close();
  EXPECT_TRUE(eventually([&] { return !stream->open(); }));
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
  EXPECT_FALSE(stream->send("data: y\n\n"));
}

TEST_F(ServerParkTest, EventsFromManyThreadsKeepTheirFrames) {
  start();
  RawSocket socket = ask("/events");
  const auto stream = await_stream();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        EXPECT_TRUE(stream->send("<" + std::to_string(t) + ":" + std::to_string(i) + ">"));
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  stream->close();
  const std::string got = socket.receive_text("\r\n0\r\n\r\n");
  for (int t = 0; t < 4; ++t) {
    EXPECT_THAT(got, HasSubstr(std::to_string(t) + ":199>"));
  }
}

TEST_F(ServerParkTest, StopWaitsForRequestsInProgressAndEndsTheRest) {
  start();
  RawSocket idle = raw();
  RawSocket events = ask("/events");
  RawSocket parked = ask("/park");
  const auto stream = await_stream();
  ASSERT_TRUE(await_parked(1));
  ASSERT_TRUE(eventually([&] { return server_->connections() == 3; }));
  auto stopped = std::async(std::launch::async, [&] { server_->stop(milliseconds(10'000)); });
  EXPECT_EQ(idle.receive_all(), "");
  EXPECT_TRUE(idle.ended());
  events.receive_all();
  EXPECT_TRUE(events.ended());
  EXPECT_TRUE(eventually([&] { return !stream->open(); }));
  EXPECT_EQ(stopped.wait_for(milliseconds(100)), std::future_status::timeout);
  parked_[0]->send(text_response("just in time"));
  const std::string answer = parked.receive_all();
  EXPECT_THAT(answer, HasSubstr("just in time"));
  EXPECT_THAT(answer, HasSubstr("Connection: close"));
  parked.close();
  stopped.get();
  EXPECT_EQ(server_->connections(), 0);
  EXPECT_FALSE(get("/hello"));
}

// Who sends history waits while there is no room, and so never disconnects a client that reads.
TEST_F(ServerParkTest, AStreamSaysWhenItsClientIsBehind) {
  start();
  RawSocket socket = ask("/events");
  const auto stream = await_stream();
  EXPECT_TRUE(stream->has_room());
  const std::string frame = "data: " + std::string(100'000, 'x') + "\n\n";
  std::size_t sent = 0;
  // The kernel's buffers take some of it; in the end the client's share piles up here.
  while (sent < (64 << 20) && stream->has_room()) {
    ASSERT_TRUE(stream->send(frame));
    sent += frame.size();
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_FALSE(stream->has_room());
  EXPECT_TRUE(stream->open());
  std::thread reader([&] { socket.receive_all(); });
  EXPECT_TRUE(eventually([&] { return stream->has_room(); }));
  EXPECT_TRUE(stream->open());
  stream->close();
  reader.join();
}

TEST_F(ServerParkTest, StopEndsWhatDoesNotEndByItself) {
  std::latch reading(1);
  std::latch writing(1);
  std::atomic<int> unavailable{0};
  router_->add_stream("PUT", "/read", {}, [&](HttpRequest, BodyReader& body, ResponderPtr) {
    std::byte buffer[10];
    reading.count_down();
    const auto n = body.read(buffer);
    unavailable += !n && n.error().code == ErrorCode::kUnavailable;
  });
  router_->add("GET", "/write", {.lane = Lane::kTransfer}, [&](HttpRequest, ResponderPtr r) {
    auto writer = r->start({}, std::nullopt);
    const std::vector<std::byte> piece(1 << 20);
    writing.count_down();
    for (;;) {
      const Status status = (*writer)->write(piece);
      if (status) continue;
      unavailable += status.error().code == ErrorCode::kUnavailable;
      return;
    }
  });
  start();
  RawSocket reader = raw();
  reader.send("PUT /read HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
  RawSocket writer = ask("/write");
  RawSocket parked = ask("/park");
  ASSERT_TRUE(await_parked(1));
  reading.wait();
  writing.wait();
  const auto begin = std::chrono::steady_clock::now();
  server_->stop(milliseconds(100));
  server_->stop(milliseconds(100));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(3000));
  EXPECT_EQ(unavailable, 2);
  EXPECT_FALSE(parked_[0]->connected());
  server_.reset();
  // A responder may outlive its server.
  parked_[0]->send(text_response("to nobody"));
  EXPECT_FALSE(parked_[0]->connected());
}

TEST_F(ServerParkTest, AWriterMayOutliveItsServer) {
  start();
  RawSocket parked = ask("/park");
  RawSocket events = ask("/events");
  ASSERT_TRUE(await_parked(1));
  const auto stream = await_stream();
  auto writer = parked_[0]->start({}, std::nullopt);
  ASSERT_TRUE(writer);
  server_.reset();
  const std::byte one{};
  EXPECT_FALSE((*writer)->write({&one, 1}));
  EXPECT_FALSE((*writer)->finish());
  EXPECT_FALSE(stream->send("data: x\n\n"));
}

}  // namespace
}  // namespace loam::net
