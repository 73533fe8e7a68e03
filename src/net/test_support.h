// SPDX-License-Identifier: Apache-2.0
#pragma once

// For the tests of this folder only.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/tls_identity.h"
#include "net/tls_testing.h"

namespace loam::net::testing {

using std::chrono::milliseconds;

// Whether the tests of servers run over TLS; the program's second run in CMakeLists.txt says so.
inline bool over_tls() {
  return std::getenv("LOAM_NET_TEST_TLS") != nullptr;
}

// A TCP socket, over TLS where that is what is tested, to send what no HTTP client would.
class RawSocket {
 public:
  explicit RawSocket(int fd) : fd_(fd) {}
  RawSocket(RawSocket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), tls_(std::move(other.tls_)) {}
  RawSocket& operator=(RawSocket&&) = delete;
  ~RawSocket() { close(); }

  static RawSocket connect(std::uint16_t port, int receive_buffer = 0) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer > 0) {
      ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(0, ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
    RawSocket out(fd);
    if (over_tls()) {
      out.tls_ = TestTlsClient::connect(fd);
      EXPECT_TRUE(out.tls_);
    }
    return out;
  }

  // False once the other end has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = tls_ ? tls_->send(bytes.data(), bytes.size())
                             : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  void shutdown_send() {
    if (tls_) tls_->send_farewell();
    ::shutdown(fd_, SHUT_WR);
  }
  void close() {
    tls_.reset();
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  // What has been received once `enough` says so, the end was reached, or time ran out.
  std::string receive_until(const std::function<bool(const std::string&)>& enough,
                            milliseconds limit = milliseconds(5000)) {
    std::string got;
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!enough(got)) {
      const auto left =
          std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now()).count();
      pollfd ready{fd_, POLLIN, 0};
      const bool waits = !tls_ || !tls_->has_pending();
      if (left <= 0 || (waits && ::poll(&ready, 1, static_cast<int>(left)) <= 0)) return got;
      char buffer[16384];
      const ssize_t n =
          tls_ ? tls_->receive(buffer, sizeof(buffer)) : ::recv(fd_, buffer, sizeof(buffer), 0);
      ended_ = n <= 0;
      if (n <= 0) return got;
      got.append(buffer, static_cast<std::size_t>(n));
    }
    return got;
  }
  std::string receive_all(milliseconds limit = milliseconds(5000)) {
    return receive_until([](const std::string&) { return false; }, limit);
  }
  std::string receive_text(std::string_view wanted, milliseconds limit = milliseconds(5000)) {
    return receive_until(
        [&](const std::string& got) { return got.find(wanted) != std::string::npos; }, limit);
  }
  bool ended() const { return ended_; }

 private:
  int fd_;
  std::unique_ptr<TestTlsClient> tls_;
  bool ended_ = false;
};

// Polls instead of sleeping for as long as the slowest machine might need.
inline bool eventually(const std::function<bool()>& holds,
                       milliseconds limit = milliseconds(10000)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    if (holds()) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return holds();
}

// A server on a free port with a client for it.
class ServerTest : public ::testing::Test {
 protected:
  void start(HttpServerOptions options = {}) {
    if (over_tls()) {
      authority_ = std::make_unique<TestAuthority>();
      authority_->make("server");
      auto identity =
          TlsIdentity::load(authority_->file("server.pem"), authority_->file("server.key"));
      ASSERT_TRUE(identity) << identity.error().to_string();
      options.tls = *identity;
      client_ = make_curl_client(authority_->ca_file());
    }
    auto started = HttpServer::start(router_, options);
    ASSERT_TRUE(started) << started.error().to_string();
    server_ = std::move(*started);
  }
  void TearDown() override {
    if (server_) server_->stop(milliseconds(0));
  }

  std::string url(const std::string& path) const {
    return std::string(over_tls() ? "https" : "http") +
           "://127.0.0.1:" + std::to_string(server_->port()) + path;
  }
  Result<HttpResponse> get(const std::string& path) {
    ClientRequest request;
    request.url = url(path);
    return client_->send(request);
  }
  Result<HttpResponse> send_body(const std::string& method, const std::string& path,
                                 std::string body) {
    ClientRequest request;
    request.method = method;
    request.url = url(path);
    request.body = std::move(body);
    return client_->send(request);
  }
  RawSocket raw() { return RawSocket::connect(server_->port()); }

  std::unique_ptr<TestAuthority> authority_;
  std::shared_ptr<Router> router_ = std::make_shared<Router>();
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_ = make_curl_client();
};

inline HttpResponse text_response(std::string body, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

}  // namespace loam::net::testing
