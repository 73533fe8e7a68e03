// SPDX-License-Identifier: Apache-2.0
#include "db/postgres_connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <cstdlib>
#include <optional>

#include "base/check.h"
#include "db/postgres_error.h"
#include "db/postgres_statement.h"
#include "db/postgres_url.h"

namespace loam::db {

namespace {

constexpr std::size_t kMaxStatements = 1'024;
// Longer than the server lets a statement or the wait for a lock take.
constexpr std::chrono::seconds kAnswerTimeout{75};
constexpr std::size_t kFetch = 500;
constexpr const char* kSettings =
    "SET client_min_messages = warning; SET statement_timeout = '60s'; SET lock_timeout = '30s'; "
    "SET idle_in_transaction_session_timeout = '15s'";

struct ResultDeleter {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, ResultDeleter>;

std::string first_line(const char* text) {
  const std::string_view all = text == nullptr ? "" : text;
  return std::string(all.substr(0, all.find('\n')));
}

Result<std::vector<Row>> rows_of(const PGresult* result) {
  std::vector<Row> out;
  const int columns = PQnfields(result);
  const int count = PQntuples(result);
  out.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    std::vector<Value> values;
    values.reserve(static_cast<std::size_t>(columns));
    for (int j = 0; j < columns; ++j) {
      if (PQgetisnull(result, i, j) == 1) {
        values.emplace_back(std::monostate{});
        continue;
      }
      const std::string_view bytes(PQgetvalue(result, i, j),
                                   static_cast<std::size_t>(PQgetlength(result, i, j)));
      values.push_back(TRY(value_from(PQftype(result, j), bytes)));
    }
    out.emplace_back(std::move(values));
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::open(const std::string& url) {
  // What the URL says comes later and wins.
  const std::array<const char*, 8> names{"connect_timeout",
                                         "keepalives_idle",
                                         "keepalives_interval",
                                         "keepalives_count",
                                         "tcp_user_timeout",
                                         "application_name",
                                         "dbname",
                                         nullptr};
  const std::array<const char*, 8> values{"5",     "5",    "2",         "3",
                                          "15000", "loam", url.c_str(), nullptr};
  std::unique_ptr<PostgresConnection> connection(
      new PostgresConnection(PQconnectdbParams(names.data(), values.data(), /*expand_dbname=*/1)));
  PGconn* handle = connection->handle_;
  const auto failed = [&] {
    return fail(ErrorCode::kUnavailable,
                fmt::format("cannot connect to the database {}: {}", redacted_url(url),
                            redacted_text(first_line(PQerrorMessage(handle)), url)));
  };
  if (handle == nullptr || PQstatus(handle) != CONNECTION_OK) return failed();
  if (PQserverVersion(handle) < 130'000) {
    return fail(ErrorCode::kUnimplemented, "the database is older than PostgreSQL 13");
  }
  const ResultPtr set(PQexec(handle, kSettings));
  if (PQresultStatus(set.get()) != PGRES_COMMAND_OK || PQenterPipelineMode(handle) != 1) {
    return failed();
  }
  return connection;
}

PostgresConnection::~PostgresConnection() {
  PQfinish(handle_);
}

Error PostgresConnection::lost(std::string_view what) {
  broken_ = true;
  return Error{ErrorCode::kUnavailable,
               fmt::format("the connection to the database was lost: {} (in: {})",
                           first_line(PQerrorMessage(handle_)), what.substr(0, 120))};
}

Error PostgresConnection::failure() const {
  return Error{ErrorCode::kUnavailable, broken_
                                            ? "the connection to the database was lost; try again"
                                            : "another transaction was in the way; try again"};
}

bool PostgresConnection::in_failed_transaction() const {
  return PQtransactionStatus(handle_) == PQTRANS_INERROR;
}

bool PostgresConnection::take_collision() {
  return std::exchange(collision_, false);
}

int PostgresConnection::socket() const {
  return PQsocket(handle_);
}

bool PostgresConnection::wait_readable(std::chrono::steady_clock::time_point until) {
  while (PQisBusy(handle_) == 1) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd ready{.fd = PQsocket(handle_), .events = POLLIN, .revents = 0};
    const int count = poll(&ready, 1, static_cast<int>(left.count()));
    if (count < 0 && errno != EINTR) return false;
    if (count > 0 && PQconsumeInput(handle_) != 1) return false;
  }
  return true;
}

Result<PostgresConnection::Answer> PostgresConnection::collect(std::string_view sql) {
  const std::size_t commands = std::exchange(sent_, 0);
  const std::vector<std::string> prepared = std::exchange(prepared_, {});
  const auto until = std::chrono::steady_clock::now() + kAnswerTimeout;
  Answer answer;
  std::optional<Error> failed;
  std::size_t command = 0;
  while (true) {
    if (!wait_readable(until)) return fail(lost(sql));
    const ResultPtr result(PQgetResult(handle_));
    if (!result) {
      // The end of one command's results; without a connection nothing else would come.
      if (PQstatus(handle_) != CONNECTION_OK || ++command > commands) return fail(lost(sql));
      continue;
    }
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_PIPELINE_SYNC) break;
    if (status == PGRES_FATAL_ERROR && !failed) {
      const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
      if (state == nullptr || PQstatus(handle_) != CONNECTION_OK) return fail(lost(sql));
      collision_ = collision_ || is_collision(state);
      failed =
          Error{meaning_of_sqlstate(state),
                fmt::format("database: {} [{}] ({}: {})",
                            first_line(PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY)),
                            state, command + 1 < commands ? "before" : "in", sql.substr(0, 120))};
    }
    if (command + 1 != commands || failed) continue;
    answer.changed = std::strtoll(PQcmdTuples(result.get()), nullptr, 10);
    answer.tag = PQcmdStatus(result.get());
    auto rows = rows_of(result.get());
    if (rows) answer.rows = std::move(*rows);
    if (!rows) failed = rows.error();
  }
  if (!failed) return answer;
  // Which of them were prepared before it failed is not known; their names are not used again.
  for (const std::string& key : prepared)
    statements_.erase(key);
  return fail(std::move(*failed));
}

Status PostgresConnection::catch_up() {
  if (broken_) return fail(lost("an earlier statement"));
  if (!std::exchange(unread_, false)) return {};
  TRY(collect("ROLLBACK"));
  return {};
}

void PostgresConnection::defer(std::string_view command) {
  deferred_.emplace_back(command);
}

bool PostgresConnection::sync() {
  return PQpipelineSync(handle_) == 1;
}

bool PostgresConnection::send_command(const char* sql) {
  ++sent_;
  return PQsendQueryParams(handle_, sql, 0, nullptr, nullptr, nullptr, nullptr, 1) == 1;
}

bool PostgresConnection::send_deferred() {
  for (const std::string& command : std::exchange(deferred_, {})) {
    if (!send_command(command.c_str())) return false;
  }
  return true;
}

bool PostgresConnection::send(std::string_view sql, std::span<const Value> args) {
  std::vector<Oid> types;
  std::vector<std::string> owned;
  std::vector<const char*> values;
  std::vector<int> lengths;
  const std::vector<int> formats(args.size(), 1);
  owned.reserve(args.size());
  std::string key(sql);
  for (const Value& value : args) {
    types.push_back(type_of(value));
    key += fmt::format(" {}", types.back());
    if (const auto* text = std::get_if<std::string>(&value)) {
      values.push_back(text->data());
      lengths.push_back(static_cast<int>(text->size()));
      continue;
    }
    owned.push_back(binary_of(value));
    values.push_back(std::holds_alternative<std::monostate>(value) ? nullptr : owned.back().data());
    lengths.push_back(static_cast<int>(owned.back().size()));
  }
  if (!sql.starts_with("SELECT")) ++writes_;
  if (!send_deferred()) return false;
  auto known = statements_.find(key);
  std::string name;
  if (known != statements_.end()) {
    name = known->second;
  } else {
    // Beyond the bound a statement has no name, which lasts until the next one.
    if (statements_.size() < kMaxStatements) {
      name = fmt::format("s{}", ++named_);
      statements_.emplace(key, name);
      prepared_.push_back(std::move(key));
    }
    ++sent_;
    if (PQsendPrepare(handle_, name.c_str(), to_postgres(sql).c_str(),
                      static_cast<int>(args.size()), types.data()) != 1) {
      return false;
    }
  }
  ++sent_;
  return PQsendQueryPrepared(handle_, name.c_str(), static_cast<int>(args.size()), values.data(),
                             lengths.data(), formats.data(), 1) == 1;
}

Result<PostgresConnection::Answer> PostgresConnection::run_once(const std::string& sql) {
  TRY_VOID(catch_up());
  if (!send_deferred() || !send_command(sql.c_str()) || !sync()) return fail(lost(sql));
  return collect(sql);
}

Result<PostgresConnection::Answer> PostgresConnection::run(std::string_view sql,
                                                           std::span<const Value> args) {
  TRY_VOID(catch_up());
  if (!send(sql, args) || !sync()) return fail(lost(sql));
  return collect(sql);
}

Status PostgresConnection::settle() {
  if (unread_ || sent_ == 0) return {};
  if (!sync()) return fail(lost("a change"));
  TRY(collect("a change"));
  return {};
}

Result<std::vector<Row>> PostgresConnection::query(std::string_view sql,
                                                   std::span<const Value> args) {
  return TRY(run(sql, args)).rows;
}

Result<std::int64_t> PostgresConnection::execute(std::string_view sql,
                                                 std::span<const Value> args) {
  return TRY(run(sql, args)).changed;
}

Status PostgresConnection::execute_later(std::string_view sql, std::span<const Value> args) {
  TRY_VOID(catch_up());
  if (!send(sql, args)) return fail(lost(sql));
  return {};
}

Result<std::vector<Row>> PostgresConnection::query_once(const std::string& sql) {
  return TRY(run_once(sql)).rows;
}

Status PostgresConnection::for_each(std::string_view sql,
                                    const std::function<Status(const Row&)>& each) {
  TRY(run_once(fmt::format("DECLARE each_row NO SCROLL CURSOR FOR {}", to_postgres(sql))));
  const std::string fetch = fmt::format("FETCH {} FROM each_row", kFetch);
  while (true) {
    const Answer page = TRY(run_once(fetch));
    for (const Row& row : page.rows)
      TRY_VOID(each(row));
    if (page.rows.size() < kFetch) break;
  }
  TRY(run_once("CLOSE each_row"));
  return {};
}

Result<std::vector<Table>> PostgresConnection::tables() {
  std::vector<Table> out;
  for (const Row& row :
       TRY(query("SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a "
                 "ON a.attrelid = c.oid JOIN pg_namespace n ON n.oid = c.relnamespace "
                 "WHERE n.nspname = current_schema() AND c.relkind = 'r' AND a.attnum > 0 AND "
                 "NOT a.attisdropped ORDER BY CAST(c.relname AS TEXT) COLLATE \"C\", a.attnum",
                 {}))) {
    if (out.empty() || out.back().name != row.text(0)) out.push_back({row.text(0), {}});
    out.back().columns.push_back(row.text(1));
  }
  return out;
}

void PostgresConnection::abandon() {
  if (broken_) return;
  // What was deferred was never sent, so without a statement there is no transaction to end.
  deferred_.clear();
  // A command behind one that failed is passed over until the next sync, a ROLLBACK too.
  static_cast<void>(settle());
  if (broken_ || unread_ || PQtransactionStatus(handle_) == PQTRANS_IDLE) return;
  unread_ = true;
  broken_ = !send_command("ROLLBACK") || !sync();
}

Status PostgresConnection::commit() {
  // In a failed transaction COMMIT succeeds as a ROLLBACK, which the tag tells.
  const Answer answer = TRY(run("COMMIT", {}));
  if (answer.tag == "COMMIT") return {};
  return fail(ErrorCode::kInternal,
              "the transaction could not be committed: a statement in it "
              "had failed");
}

Result<std::vector<std::string>> PostgresConnection::notifications() {
  if (PQconsumeInput(handle_) != 1) return fail(lost("LISTEN"));
  std::vector<std::string> out;
  while (PGnotify* raw = PQnotifies(handle_)) {
    const std::unique_ptr<PGnotify, void (*)(void*)> one(raw, PQfreemem);
    if (one->be_pid != PQbackendPID(handle_)) out.emplace_back(one->extra);
  }
  return out;
}

}  // namespace loam::db
