// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "agent/lease.h"
#include "agent/log_spool.h"
#include "agent/server_api.h"

namespace loam::agent {

// Sends an attempt's output from its spool to the server, about once a second. The spool decouples
// them: a server that is away delays the log, never the program.
class LogShipper {
 public:
  LogShipper(const ServerApi& api, const Lease& lease, std::string spool_dir);
  ~LogShipper();
  // The program has ended: sends the rest, until it is all there or `give_up` says stop.
  void finish(std::function<bool()> give_up);

 private:
  void run();
  // Sends everything that is there; false to try again later.
  bool ship();
  Status send(const LogChunk& chunk);

  const ServerApi& api_;
  const Lease& lease_;
  const std::string spool_dir_;
  std::optional<LogSpoolReader> reader_;
  std::optional<LogChunk> unsent_;
  std::int64_t next_seq_ = 0;

  std::atomic<bool> stopping_{false};
  std::atomic<bool> abandoned_{false};
  std::function<bool()> give_up_;
  std::thread thread_;
};

}  // namespace loam::agent
