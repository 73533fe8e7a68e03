// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "db/postgres_connector.h"

namespace loam::db {

// Short messages between the programs over one database, by LISTEN and NOTIFY on a connection and
// a thread of its own. What is said while there is no connection is lost.
class PostgresBroadcast {
 public:
  explicit PostgresBroadcast(std::string url);
  ~PostgresBroadcast();
  PostgresBroadcast(const PostgresBroadcast&) = delete;
  PostgresBroadcast& operator=(const PostgresBroadcast&) = delete;

  // Any thread; does not wait.
  void send(std::string message);
  // Set from one thread; when this returns, no earlier handler is running.
  void set_handler(std::function<void(const std::string&)> handler);

 private:
  void run();
  bool listen_once(PostgresConnection& connection);
  bool stopping();
  std::vector<std::string> take_outgoing();
  void pause();

  PostgresConnector connector_;
  int wake_ = -1;  // an eventfd
  std::mutex mutex_;
  std::vector<std::string> outgoing_;
  bool stopping_ = false;
  std::mutex handler_mutex_;  // held while the handler runs
  std::function<void(const std::string&)> handler_;
  std::thread thread_;
};

}  // namespace loam::db
