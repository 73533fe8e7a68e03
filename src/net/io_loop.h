// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_set>

#include "net/asio.h"

namespace loam::net {

class Connection;

// One io thread and the connections that belong to it. A connection never changes its loop, so its
// state needs no lock. Deadlines are fields of the connections that are looked at once per tick:
// with thousands of connections this is far cheaper than a timer for each.
class IoLoop : public std::enable_shared_from_this<IoLoop> {
 public:
  explicit IoLoop(std::chrono::milliseconds tick);
  ~IoLoop();
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  boost::asio::io_context& context() { return context_; }
  void post(std::function<void()> action);
  // Ends the thread; what was posted after is dropped with the loop. Not from the loop's thread.
  void stop();

  // On the loop's thread only.
  void add(std::shared_ptr<Connection> connection);
  void remove(const std::shared_ptr<Connection>& connection);
  void for_each(const std::function<void(Connection&)>& action);

 private:
  void schedule_tick();

  const std::chrono::milliseconds tick_;
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::thread thread_;
};

}  // namespace loam::net
