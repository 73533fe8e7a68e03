// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.h"

#include <algorithm>
#include <latch>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "net/connection.h"
#include "net/io_loop.h"
#include "net/tls_identity.h"

namespace loam::net {

namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptRetry{100};
constexpr std::chrono::milliseconds kStopPoll{2};
constexpr std::string_view kFullAnswer =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n"
    "Content-Length: 0\r\n\r\n";

// Deadlines are kept to within a tenth of the shortest of them.
std::chrono::milliseconds tick_for(const HttpServerOptions& options) {
  const auto shortest =
      std::min({options.idle_timeout, options.request_timeout, options.body_stall_timeout});
  return std::clamp(shortest / 10, std::chrono::milliseconds(5), std::chrono::milliseconds(500));
}

class Server final : public HttpServer {
 public:
  Server(std::shared_ptr<Router> router, const HttpServerOptions& options)
      : core_(std::make_shared<ServerCore>(std::move(router), options)) {
    for (int i = 0; i < options.io_threads; ++i) {
      loops_.push_back(std::make_shared<IoLoop>(tick_for(options)));
    }
    acceptor_ = std::make_unique<tcp::acceptor>(loops_[0]->context());
    retry_timer_ = std::make_unique<boost::asio::steady_timer>(loops_[0]->context());
  }
  ~Server() override { stop(std::chrono::milliseconds(0)); }

  Status listen() {
    error_code ec;
    const auto address = boost::asio::ip::make_address(core_->options.address, ec);
    const tcp::endpoint endpoint(address, core_->options.port);
    if (!ec) acceptor_->open(endpoint.protocol(), ec);
    if (!ec) acceptor_->set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec) acceptor_->bind(endpoint, ec);
    if (!ec) acceptor_->listen(tcp::acceptor::max_listen_connections, ec);
    if (!ec) port_ = acceptor_->local_endpoint(ec).port();
    if (ec) {
      return fail(ErrorCode::kUnavailable,
                  fmt::format("cannot listen on {}:{}: {}", core_->options.address,
                              core_->options.port, ec.message()));
    }
    loops_[0]->post([this] { accept(); });
    return {};
  }

  std::uint16_t port() const override { return port_; }
  int connections() const override { return core_->connections; }

  void stop(std::chrono::milliseconds grace) override {
    const std::lock_guard lock(stop_mutex_);
    if (loops_.empty()) return;
    const auto deadline = std::chrono::steady_clock::now() + grace;
    core_->stopping = true;
    loops_[0]->post([this] {
      error_code ignored;
      acceptor_->close(ignored);
      retry_timer_->cancel();
    });
    on_every_connection([](Connection& connection) { connection.begin_drain(); });
    while (core_->connections > 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kStopPoll);
    }
    // Workers that wait for a connection are let go by its end; only then can they be joined.
    on_every_connection([](Connection& connection) { connection.close(); });
    std::latch closed(static_cast<std::ptrdiff_t>(loops_.size()));
    for (const auto& loop : loops_)
      loop->post([&closed] { closed.count_down(); });
    closed.wait();
    core_->control.stop();
    core_->transfer.stop();
    for (const auto& loop : loops_)
      loop->stop();
    acceptor_.reset();
    retry_timer_.reset();
    loops_.clear();
  }

 private:
  void on_every_connection(const std::function<void(Connection&)>& action) {
    for (const auto& loop : loops_) {
      loop->post([loop = loop.get(), action] { loop->for_each(action); });
    }
  }

  void accept() {
    IoLoop& target = *loops_[next_loop_++ % loops_.size()];
    acceptor_->async_accept(target.context(), [this, &target](error_code ec, tcp::socket socket) {
      if (core_->stopping) return;
      if (ec) return retry_accept(ec);
      take(target, std::move(socket));
      accept();
    });
  }

  // Out of descriptors or memory: asking again at once would only spin.
  void retry_accept(const error_code& ec) {
    LOG_WARN("cannot accept a connection on port {}: {}", port_, ec.message());
    retry_timer_->expires_after(kAcceptRetry);
    retry_timer_->async_wait([this](error_code canceled) {
      if (!canceled) accept();
    });
  }

  void take(IoLoop& loop, tcp::socket socket) {
    if (core_->connections >= core_->options.max_connections) {
      if (core_->options.tls) return;  // nothing that the client could read
      error_code ignored;
      socket.non_blocking(true, ignored);
      socket.write_some(boost::asio::buffer(kFullAnswer.data(), kFullAnswer.size()), ignored);
      return;
    }
    ++core_->connections;
    auto connection = std::make_shared<Connection>(loop, std::move(socket), core_);
    loop.post([connection = std::move(connection)] { connection->start(); });
  }

  const std::shared_ptr<ServerCore> core_;
  std::vector<std::shared_ptr<IoLoop>> loops_;
  std::unique_ptr<tcp::acceptor> acceptor_;
  std::unique_ptr<boost::asio::steady_timer> retry_timer_;
  std::size_t next_loop_ = 0;
  std::uint16_t port_ = 0;
  std::mutex stop_mutex_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(std::shared_ptr<Router> router,
                                                      const HttpServerOptions& options) {
  CHECK(router && options.io_threads > 0);
  auto server = std::make_unique<Server>(std::move(router), options);
  TRY_VOID(server->listen());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace loam::net
