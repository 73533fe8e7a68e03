// SPDX-License-Identifier: Apache-2.0
#include "net/io_loop.h"

#include <vector>

#include "net/connection.h"

namespace loam::net {

IoLoop::IoLoop(std::chrono::milliseconds tick)
    : tick_(tick), context_(1), work_(context_.get_executor()), timer_(context_) {
  schedule_tick();
  thread_ = std::thread([this] { context_.run(); });
}

IoLoop::~IoLoop() {
  stop();
}

void IoLoop::post(std::function<void()> action) {
  boost::asio::post(context_, std::move(action));
}

void IoLoop::stop() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

void IoLoop::add(std::shared_ptr<Connection> connection) {
  connections_.insert(std::move(connection));
}

void IoLoop::remove(const std::shared_ptr<Connection>& connection) {
  connections_.erase(connection);
}

void IoLoop::for_each(const std::function<void(Connection&)>& action) {
  // A connection may leave the set from within the action.
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all)
    action(*connection);
}

void IoLoop::schedule_tick() {
  timer_.expires_after(tick_);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec) return;
    const auto now = std::chrono::steady_clock::now();
    for_each([now](Connection& connection) { connection.check_deadlines(now); });
    schedule_tick();
  });
}

}  // namespace loam::net
