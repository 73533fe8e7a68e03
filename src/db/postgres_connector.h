// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "db/postgres_connection.h"

namespace loam::db {

// Opens connections for all threads of a database and bounds how long they wait while there are
// none to be had: `patience` from the moment the database was first missed. After that every call
// fails at once until somebody gets through, so that an outage does not tie up every thread. Any
// thread.
class PostgresConnector {
 public:
  PostgresConnector(std::string url, std::chrono::milliseconds patience)
      : url_(std::move(url)), patience_(patience) {}

  // kUnavailable once patience has run out or stop() was called.
  Result<std::unique_ptr<PostgresConnection>> connect();
  void stop();

 private:
  using Time = std::chrono::steady_clock::time_point;
  // Notes a failure; how long to pause before the next try, or nothing if there is to be none.
  std::optional<std::chrono::milliseconds> next_pause(std::chrono::milliseconds pause);

  const std::string url_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<Time> missed_since_;
  Time last_try_{};
  bool stopping_ = false;
};

}  // namespace loam::db
