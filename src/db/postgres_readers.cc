// SPDX-License-Identifier: Apache-2.0
#include "db/postgres_readers.h"

namespace loam::db {

namespace {
constexpr int kMostTries = 3;
}

Result<std::unique_ptr<PostgresConnection>> PostgresReaders::take() {
  {
    std::unique_lock lock(mutex_);
    // Readers hold their connection for moments only, and an outage has its own bound.
    released_.wait(lock, [this] { return free_ > 0; });
    --free_;
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  auto connection = connector_.connect();
  if (!connection) give_back(nullptr);
  return connection;
}

void PostgresReaders::give_back(std::unique_ptr<PostgresConnection> connection) {
  std::vector<std::unique_ptr<PostgresConnection>> stale;
  {
    const std::lock_guard lock(mutex_);
    ++free_;
    if (connection && connection->broken()) {
      // Whatever broke it has most likely broken the others too.
      stale.swap(idle_);
    } else if (connection) {
      idle_.push_back(std::move(connection));
    }
  }
  released_.notify_one();
}

Status PostgresReaders::read(const Operation& operation) {
  for (int tried = 1;; ++tried) {
    auto connection = TRY(take());
    connection->defer("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    Status status = operation(*connection);
    connection->abandon();
    const bool again = !status && connection->broken() && tried < kMostTries;
    give_back(std::move(connection));
    if (!again) return status;
  }
}

}  // namespace loam::db
