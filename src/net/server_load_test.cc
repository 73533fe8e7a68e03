// SPDX-License-Identifier: Apache-2.0
// Many clients at once, and lanes that are full.
#include <gmock/gmock.h>

#include <condition_variable>
#include <latch>
#include <mutex>
#include <vector>

#include "net/test_support.h"
#include "net/worker_lane.h"

namespace loam::net {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder's tests

// Holds handlers until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool await(int n) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return waiting_ >= n; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

class ServerLoadTest : public ServerTest {
 protected:
  ServerLoadTest() {
    router_->add("GET", "/hello", {}, [](HttpRequest, ResponderPtr responder) {
      responder->send(text_response("hello"));
    });
    for (const auto lane : {Lane::kControl, Lane::kTransfer}) {
      const std::string name = lane == Lane::kControl ? "control" : "transfer";
      router_->add("GET", "/block/" + name, {.lane = lane},
                   [this](HttpRequest, ResponderPtr responder) {
                     gate_.pass();
                     responder->send(text_response("passed"));
                   });
      router_->add(
          "GET", "/quick/" + name, {.lane = lane},
          [](HttpRequest, ResponderPtr responder) { responder->send(text_response("quick")); });
    }
  }
  void TearDown() override {
    gate_.open();
    ServerTest::TearDown();
  }
  RawSocket ask(const std::string& path) {
    RawSocket socket = raw();
    socket.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
    return socket;
  }
  Gate gate_;
};

TEST_F(ServerLoadTest, ThousandsOfIdleConnectionsAreCheap) {
  start();
  constexpr int kCount = 2000;
  std::vector<RawSocket> sockets;
  for (int i = 0; i < kCount; ++i) {
    sockets.push_back(raw());
    if (i % 2 == 0) sockets.back().send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  ASSERT_TRUE(eventually([&] { return server_->connections() == kCount; }));
  for (int i = 0; i < kCount; i += 2) {
    EXPECT_THAT(sockets[static_cast<std::size_t>(i)].receive_text("hello"),
                ::testing::EndsWith("hello"));
  }
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(get("/hello")->body, "hello");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2000));
  EXPECT_EQ(server_->connections(), kCount + 1);
  sockets.clear();
  EXPECT_TRUE(eventually([&] { return server_->connections() == 1; }));
}

TEST_F(ServerLoadTest, NeitherLaneStarvesTheOther) {
  HttpServerOptions options;
  options.control_threads = 2;
  options.transfer_threads = 2;
  start(options);
  std::vector<RawSocket> blocked;
  for (int i = 0; i < 6; ++i)
    blocked.push_back(ask("/block/transfer"));
  ASSERT_TRUE(gate_.await(2));
  EXPECT_EQ(get("/quick/control")->body, "quick");
  gate_.open();
  for (RawSocket& socket : blocked)
    socket.receive_text("passed");
  EXPECT_EQ(get("/quick/transfer")->body, "quick");
}

TEST_F(ServerLoadTest, ControlMayBlockToo) {
  HttpServerOptions options;
  options.control_threads = 1;
  start(options);
  const RawSocket blocked = ask("/block/control");
  ASSERT_TRUE(gate_.await(1));
  EXPECT_EQ(get("/quick/transfer")->body, "quick");
}

TEST_F(ServerLoadTest, AFullLaneAnswers503AndRecovers) {
  HttpServerOptions options;
  options.control_threads = 1;
  options.max_queued_requests = 2;
  start(options);
  std::vector<RawSocket> queued;
  queued.push_back(ask("/block/control"));
  ASSERT_TRUE(gate_.await(1));
  // One runs and two wait; which sockets these are is not said, but the rest is turned away.
  for (int i = 0; i < 5; ++i)
    queued.push_back(ask("/quick/control"));
  ASSERT_TRUE(eventually([&] { return get("/quick/control")->status == 503; }));
  const auto full = get("/quick/control");
  EXPECT_EQ(full->status, 503);
  EXPECT_EQ(full->headers.get("Retry-After"), "1");
  EXPECT_EQ(get("/quick/transfer")->status, 200);
  gate_.open();
  int served = 0;
  for (RawSocket& socket : queued) {
    const std::string answer = socket.receive_text("\r\n\r\n");
    served += answer.starts_with("HTTP/1.1 200 ");
  }
  // That the lane was full is shown by the 503 above; a request that had not been read by then was
  // served when the gate opened.
  EXPECT_GE(served, 3);
  EXPECT_TRUE(eventually([&] { return get("/quick/control")->status == 200; }));
}

TEST_F(ServerLoadTest, ManyClientThreadsKeepTheirConnections) {
  start();
  constexpr int kThreads = 32;
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        const auto response = get("/hello");
        if (response && response->body == "hello") ++good;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(good, kThreads * 100);
  EXPECT_LE(server_->connections(), kThreads);
}

TEST_F(ServerLoadTest, StopUnderLoadLosesNoThread) {
  start();
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        const auto response = get("/hello");
        if (response && response->status == 200) ++answered;
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return answered > 100; }));
  server_->stop(milliseconds(2000));
  stop = true;
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(server_->connections(), 0);
}

TEST(WorkerLaneTest, DropsWhatIsQueuedWhenItStops) {
  Gate gate;
  WorkerLane lane(1, 3);
  EXPECT_TRUE(lane.submit([&] { gate.pass(); }));
  ASSERT_TRUE(gate.await(1));
  const auto token = std::make_shared<int>(1);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(lane.submit([token] {}));
  EXPECT_FALSE(lane.submit([token] {}));
  EXPECT_EQ(token.use_count(), 4);
  std::thread opener([&] {
    EXPECT_TRUE(eventually([&] { return token.use_count() == 1; }));
    gate.open();
  });
  lane.stop();
  opener.join();
  EXPECT_FALSE(lane.submit([] {}));
}

}  // namespace
}  // namespace loam::net
