// SPDX-License-Identifier: Apache-2.0
#include "db/sqlite_connection.h"

#include <fmt/format.h>

#include "base/check.h"

namespace loam::db {

namespace {

// Statements are constants of the program; more than this many would mean that values were pasted
// into their text.
constexpr std::size_t kMaxStatements = 512;

ErrorCode meaning(int code) {
  switch (code & 0xff) {
    case SQLITE_CONSTRAINT:
      return ErrorCode::kAlreadyExists;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::kUnavailable;
    case SQLITE_FULL:
      return ErrorCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::kDataCorrupt;
    default:
      return ErrorCode::kInternal;
  }
}

int bind(sqlite3_stmt* statement, int index, const Value& value) {
  struct Binder {
    sqlite3_stmt* statement;
    int index;
    int operator()(std::monostate) const { return sqlite3_bind_null(statement, index); }
    int operator()(std::int64_t v) const { return sqlite3_bind_int64(statement, index, v); }
    int operator()(double v) const { return sqlite3_bind_double(statement, index, v); }
    int operator()(const std::string& v) const {
      return sqlite3_bind_text64(statement, index, v.data(), v.size(), SQLITE_TRANSIENT,
                                 SQLITE_UTF8);
    }
  };
  return std::visit(Binder{statement, index}, value);
}

Value column(sqlite3_stmt* statement, int index) {
  switch (sqlite3_column_type(statement, index)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, index)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, index);
    case SQLITE_NULL:
      return std::monostate{};
    default: {
      const auto* text = static_cast<const char*>(sqlite3_column_blob(statement, index));
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, index));
      return text == nullptr ? std::string() : std::string(text, size);
    }
  }
}

}  // namespace

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const std::string& path,
                                                                 bool read_only) {
  sqlite3* handle = nullptr;
  const int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int rc = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<SqliteConnection> connection(new SqliteConnection(handle));
  if (rc != SQLITE_OK) {
    return fail(meaning(rc), fmt::format("cannot open the database {}: {}", path,
                                         handle ? sqlite3_errmsg(handle) : "out of memory"));
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, 10'000);
  if (!read_only) {
    TRY(connection->query("PRAGMA journal_mode = WAL", {}));
    TRY(connection->query("PRAGMA synchronous = FULL", {}));
    TRY(connection->query("PRAGMA wal_autocheckpoint = 4000", {}));
  }
  TRY(connection->query("PRAGMA foreign_keys = ON", {}));
  TRY(connection->query("PRAGMA cache_size = -32000", {}));
  return connection;
}

SqliteConnection::~SqliteConnection() {
  for (const auto& [sql, statement] : statements_)
    sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

Error SqliteConnection::error(std::string_view sql) const {
  return Error{meaning(sqlite3_extended_errcode(handle_)),
               fmt::format("database: {} (in: {})", sqlite3_errmsg(handle_), sql.substr(0, 120))};
}

Result<sqlite3_stmt*> SqliteConnection::prepare(std::string_view sql, std::span<const Value> args) {
  auto it = statements_.find(std::string(sql));
  if (it == statements_.end()) {
    CHECK(statements_.size() < kMaxStatements);
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                           SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
      return fail(error(sql));
    }
    it = statements_.emplace(std::string(sql), statement).first;
  }
  CHECK(sqlite3_bind_parameter_count(it->second) == static_cast<int>(args.size()));
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (bind(it->second, static_cast<int>(i) + 1, args[i]) != SQLITE_OK) return fail(error(sql));
  }
  return it->second;
}

Status SqliteConnection::run(std::string_view sql, std::span<const Value> args,
                             const std::function<Status(Row)>& each) {
  sqlite3_stmt* statement = TRY(prepare(sql, args));
  std::optional<Error> failed;
  int rc = SQLITE_ROW;
  while (!failed && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
    const int columns = sqlite3_column_count(statement);
    std::vector<Value> values;
    values.reserve(static_cast<std::size_t>(columns));
    for (int i = 0; i < columns; ++i)
      values.push_back(column(statement, i));
    if (const Status taken = each(Row(std::move(values))); !taken) failed = taken.error();
  }
  if (rc != SQLITE_DONE && rc != SQLITE_ROW) failed = error(sql);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  if (failed) return fail(std::move(*failed));
  return {};
}

Result<std::vector<Row>> SqliteConnection::query(std::string_view sql,
                                                 std::span<const Value> args) {
  std::vector<Row> rows;
  TRY_VOID(run(sql, args, [&](Row row) -> Status {
    rows.push_back(std::move(row));
    return {};
  }));
  return rows;
}

Status SqliteConnection::for_each(std::string_view sql,
                                  const std::function<Status(const Row&)>& each) {
  return run(sql, {}, [&](const Row& row) { return each(row); });
}

Result<std::vector<Table>> SqliteConnection::tables() {
  std::vector<Table> out;
  for (const Row& row :
       TRY(query("SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "
                 "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY m.name, c.cid",
                 {}))) {
    if (out.empty() || out.back().name != row.text(0)) out.push_back({row.text(0), {}});
    out.back().columns.push_back(row.text(1));
  }
  return out;
}

Result<std::int64_t> SqliteConnection::execute(std::string_view sql, std::span<const Value> args) {
  TRY(query(sql, args));
  return std::int64_t{sqlite3_changes64(handle_)};
}

}  // namespace loam::db
