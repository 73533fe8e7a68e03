// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "db/database.h"

namespace loam::db {

struct PostgresOptions {
  std::string url;  // postgresql://…, as libpq takes it
  int readers = 8;
  std::size_t max_queued_writes = 20'000;  // beyond it kResourceExhausted
  std::size_t max_batch = 500;             // operations in one commit
  // How long operations wait for a database that does not answer before they fail as kUnavailable.
  std::chrono::milliseconds patience{10'000};
};

// A schema of a PostgreSQL database, shared by any number of programs. Each has one writer thread
// that runs all waiting operations in one transaction, a savepoint each; the transaction begins by
// taking an advisory lock, so that the writers of all programs work one after the other
// (docs/decisions/0005-one-writer-at-a-time.md). When the connection is lost, the transaction runs
// again on a new one; one that was lost in its commit is first looked up by its transaction id, so
// that nothing is written twice.
Result<std::unique_ptr<Database>> open_postgres(const PostgresOptions& options);

}  // namespace loam::db
