// SPDX-License-Identifier: Apache-2.0
// The client against servers that do not behave.
#include "net/http_client.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "net/test_support.h"

namespace loam::net {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder's tests
using ::testing::HasSubstr;
using ::testing::Not;

// Accepts connections one after another and runs a script on each.
class ScriptedServer {
 public:
  using Script = std::function<void(RawSocket&, int number)>;

  explicit ScriptedServer(Script script) : script_(std::move(script)) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(0, ::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
    EXPECT_EQ(0, ::listen(fd_, 16));
    socklen_t size = sizeof(address);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~ScriptedServer() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }
  std::string url(const std::string& path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  int accepted() const { return accepted_; }

 private:
  void run() {
    for (;;) {
      const int connection = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      RawSocket socket(connection);
      script_(socket, accepted_++);
    }
  }

  const Script script_;
  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_{0};
  std::thread thread_;
};

class HttpClientTest : public ::testing::Test {
 protected:
  // Answers every connection with `response` after a request header, then closes.
  std::unique_ptr<ScriptedServer> serve(std::string response) {
    return std::make_unique<ScriptedServer>([this, response](RawSocket& socket, int) {
      const std::string request = socket.receive_text("\r\n\r\n");
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      socket.send(response);
    });
  }
  Result<HttpResponse> get(const std::string& url) {
    ClientRequest request;
    request.url = url;
    return client_->send(request);
  }

  std::unique_ptr<HttpClient> client_ = make_curl_client();
  std::mutex mutex_;
  std::vector<std::string> requests_;
};

TEST_F(HttpClientTest, ABodyShorterThanPromisedIsAnError) {
  for (const char* response : {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
                               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
                               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
                               "HTTP/1.1 200 OK\r\nCont", ""}) {
    const auto server = serve(response);
    const auto got = get(server->url());
    ASSERT_FALSE(got) << response;
    EXPECT_EQ(got.error().code, ErrorCode::kUnavailable) << got.error().message;
    EXPECT_THAT(got.error().message, HasSubstr(server->url()));
  }
}

TEST_F(HttpClientTest, GarbageIsAnErrorAndAnyStatusIsAResponse) {
  EXPECT_FALSE(get(serve("garbage\r\n\r\n")->url()));
  const auto teapot =
      get(serve("HTTP/1.1 418 Teapot\r\nContent-Length: 2\r\nX: 1\r\n\r\nhi")->url());
  ASSERT_TRUE(teapot);
  EXPECT_EQ(teapot->status, 418);
  EXPECT_EQ(teapot->body, "hi");
  EXPECT_EQ(teapot->headers.get("x"), "1");
  const auto moved =
      get(serve("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n")->url());
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->status, 302);  // not followed
}

TEST_F(HttpClientTest, InterimResponsesAreSkipped) {
  const auto got = get(serve("HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n"
                             "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: 1\r\n\r\nhi")
                           ->url());
  ASSERT_TRUE(got) << got.error().to_string();
  EXPECT_EQ(got->status, 200);
  EXPECT_FALSE(got->headers.get("X-Early"));
  EXPECT_EQ(got->body, "hi");
}

TEST_F(HttpClientTest, NoServerIsUnavailable) {
  std::string url;
  {
    const auto server = serve("");
    url = server->url();
  }
  const auto got = get(url);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(get("nonsense://x").error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(get("http://no-such-host.invalid/"));
}

TEST_F(HttpClientTest, DeadlinesStallsAndCancelsEndARequest) {
  ScriptedServer server([](RawSocket& socket, int) {
    socket.receive_text("\r\n\r\n");
    socket.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
    socket.receive_all(milliseconds(5000));  // until the client gives up
  });
  ClientRequest request;
  request.url = server.url();
  const auto timed = [&] {
    const auto begin = std::chrono::steady_clock::now();
    const auto got = client_->send(request);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2000));
    return got ? ErrorCode::kInternal : got.error().code;
  };
  request.deadline = milliseconds(150);
  EXPECT_EQ(timed(), ErrorCode::kDeadlineExceeded);
  request.deadline = milliseconds(0);
  request.stall_timeout = milliseconds(150);
  EXPECT_EQ(timed(), ErrorCode::kDeadlineExceeded);
  request.stall_timeout = milliseconds(0);
  int asked = 0;
  request.canceled = [&] { return ++asked > 3; };
  EXPECT_EQ(timed(), ErrorCode::kCanceled);
}

TEST_F(HttpClientTest, ADripIsNoStall) {
  ScriptedServer server([](RawSocket& socket, int) {
    socket.receive_text("\r\n\r\n");
    socket.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
    for (int i = 0; i < 10; ++i) {
      std::this_thread::sleep_for(milliseconds(60));
      socket.send("x");
    }
  });
  ClientRequest request;
  request.url = server.url();
  request.stall_timeout = milliseconds(400);
  const auto got = client_->send(request);
  ASSERT_TRUE(got) << got.error().to_string();
  EXPECT_EQ(got->body, "xxxxxxxxxx");
}

TEST_F(HttpClientTest, NothingIsSentTwice) {
  // The first request leaves a kept connection; the second is read and then the connection dies.
  ScriptedServer server([this](RawSocket& socket, int) {
    for (int i = 0; i < 2; ++i) {
      const std::string request = socket.receive_text("\r\n\r\n");
      if (request.empty()) return;  // curl connected again, but was kept from sending
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      if (i == 0) socket.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
  });
  for (const char* method : {"POST", "GET", "PUT"}) {
    const std::size_t before = requests_.size();
    ClientRequest request;
    request.method = method;
    request.url = server.url();
    if (request.method != "GET") request.body = "x";
    ASSERT_TRUE(client_->send(request));
    const auto second = client_->send(request);
    ASSERT_FALSE(second) << method;
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(requests_.size(), before + 2) << method;
  }
}

TEST_F(HttpClientTest, RequestsGoOutAsWritten) {
  const auto server = serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  ClientRequest request;
  request.method = "POST";
  request.url = server->url("/a/../b//c%2Fd?x=1&y=%20");
  request.headers.add("X-Empty", "");
  request.headers.add("X-One", "1");
  request.headers.add("Content-Length", "77");
  request.body = "hello";
  ASSERT_TRUE(client_->send(request));
  const std::string& sent = requests_.at(0);
  EXPECT_TRUE(sent.starts_with("POST /a/../b//c%2Fd?x=1&y=%20 HTTP/1.1\r\n")) << sent;
  EXPECT_THAT(sent, HasSubstr("X-Empty:\r\n"));
  EXPECT_THAT(sent, HasSubstr("X-One: 1\r\n"));
  EXPECT_THAT(sent, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(sent, Not(HasSubstr("Content-Length: 77")));
  EXPECT_THAT(sent, Not(HasSubstr("Content-Type")));
  EXPECT_THAT(sent, Not(HasSubstr("Expect")));
  request.headers.add("X-Evil", "a\r\nX-Injected: 1");
  EXPECT_EQ(client_->send(request).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(HttpClientTest, ProxiesOfTheEnvironmentAreIgnored) {
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  ::setenv("all_proxy", "http://127.0.0.1:1", 1);
  const auto server = serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(get(server->url()));
  ::unsetenv("http_proxy");
  ::unsetenv("all_proxy");
}

TEST_F(HttpClientTest, SourcesAndSinksEndARequestWithTheirError) {
  const auto server = serve("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  ClientRequest request;
  request.url = server->url();
  request.sink = [](std::span<const std::byte>) -> Status {
    return fail(ErrorCode::kDataCorrupt, "the sink's reason");
  };
  EXPECT_EQ(client_->send(request).error().message, "the sink's reason");
  // A server of its own: the first one closes its connection, and may do so under a request.
  const auto again = serve("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  request.url = again->url();
  request.before_sink = [](const HttpResponse&) -> Status {
    return fail(ErrorCode::kDataCorrupt, "the head's reason");
  };
  EXPECT_EQ(client_->send(request).error().message, "the head's reason");

  request = ClientRequest{};
  request.method = "PUT";
  request.url = server->url();
  request.body_source = [](std::span<std::byte>) -> Result<std::size_t> {
    return fail(ErrorCode::kNotFound, "the source's reason");
  };
  EXPECT_EQ(client_->send(request).error().code, ErrorCode::kInvalidArgument);  // no length
  request.body_length = 10;
  EXPECT_EQ(client_->send(request).error().message, "the source's reason");
  request.body_source = [](std::span<std::byte>) -> Result<std::size_t> { return std::size_t{0}; };
  EXPECT_EQ(client_->send(request).error().code, ErrorCode::kInternal);
}

TEST_F(HttpClientTest, OnlyGoodBodiesGoToTheSinkAndOthersAreBounded) {
  std::string sunk;
  ClientRequest request;
  request.sink = [&](std::span<const std::byte> bytes) -> Status {
    sunk.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  };
  const auto bad = serve("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy");
  request.url = bad->url();
  const auto busy = client_->send(request);
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->body, "busy");
  EXPECT_EQ(sunk, "");
  // A server of its own: the first one closes its connection, and may do so under a request.
  const auto long_one = serve("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy");
  request.url = long_one->url();
  request.max_response_bytes = 3;
  EXPECT_EQ(client_->send(request).error().code, ErrorCode::kTooLarge);
  const auto good = serve("HTTP/1.1 206 Partial\r\nContent-Length: 4\r\n\r\ngood");
  request.url = good->url();
  request.before_sink = [&](const HttpResponse& head) -> Status {
    sunk += fmt::format("{} {}: ", head.status, *head.headers.get("Content-Length"));
    return {};
  };
  ASSERT_TRUE(client_->send(request));
  EXPECT_EQ(sunk, "206 4: good");
}

}  // namespace
}  // namespace loam::net
