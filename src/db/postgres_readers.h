// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "db/postgres_connector.h"

namespace loam::db {

// At most `most` connections for reading, opened when they are first needed. Any thread.
class PostgresReaders {
 public:
  PostgresReaders(PostgresConnector& connector, int most) : connector_(connector), free_(most) {}

  // One snapshot (REPEATABLE READ READ ONLY). On a connection that was lost meanwhile the operation
  // runs again on a new one.
  Status read(const Operation& operation);

 private:
  Result<std::unique_ptr<PostgresConnection>> take();
  void give_back(std::unique_ptr<PostgresConnection> connection);

  PostgresConnector& connector_;
  std::mutex mutex_;
  std::condition_variable released_;
  int free_;  // how many more may be in use
  std::vector<std::unique_ptr<PostgresConnection>> idle_;
};

}  // namespace loam::db
