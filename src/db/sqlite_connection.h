// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "db/database.h"

namespace loam::db {

// One SQLite connection with its prepared statements. Not for concurrent use.
class SqliteConnection final : public Session {
 public:
  static Result<std::unique_ptr<SqliteConnection>> open(const std::string& path, bool read_only);
  ~SqliteConnection() override;
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  Result<std::vector<Row>> query(std::string_view sql, std::span<const Value> args) override;
  Result<std::int64_t> execute(std::string_view sql, std::span<const Value> args) override;
  Status for_each(std::string_view sql, const std::function<Status(const Row&)>& each) override;
  Result<std::vector<Table>> tables() override;

 private:
  explicit SqliteConnection(sqlite3* handle) : handle_(handle) {}
  Result<sqlite3_stmt*> prepare(std::string_view sql, std::span<const Value> args);
  Status run(std::string_view sql, std::span<const Value> args,
             const std::function<Status(Row)>& each);
  Error error(std::string_view sql) const;

  sqlite3* handle_;
  std::unordered_map<std::string, sqlite3_stmt*> statements_;
};

}  // namespace loam::db
