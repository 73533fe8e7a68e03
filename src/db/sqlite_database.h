// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "db/database.h"

namespace loam::db {

struct SqliteOptions {
  std::string path;  // created if missing; ":memory:" is not supported
  int readers = 4;
  std::size_t max_queued_writes = 20'000;  // beyond it kResourceExhausted
  std::size_t max_batch = 2'000;           // operations in one commit
};

// SQLite in WAL mode with synchronous=FULL. One writer thread runs all waiting operations in one
// transaction, a savepoint each, so that many callers share one fsync; readers have connections of
// their own and never wait for the writer.
Result<std::unique_ptr<Database>> open_sqlite(const SqliteOptions& options);

}  // namespace loam::db
