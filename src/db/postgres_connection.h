// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/database.h"

struct pg_conn;

namespace loam::db {

// One connection to PostgreSQL with its prepared statements. Not for concurrent use. It always
// works in libpq's pipeline mode, so that what needs no answer shares a round trip with what does.
//
// The server ends a statement after 60 s and a transaction that does nothing after 15 s, so that a
// program that hangs cannot keep others from writing for longer.
class PostgresConnection final : public Session {
 public:
  // `url` is what libpq takes; what it leaves out (PGPASSWORD, a password file, a service) libpq
  // finds. kUnavailable if there is no connection to be had.
  static Result<std::unique_ptr<PostgresConnection>> open(const std::string& url);
  ~PostgresConnection() override;
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  Result<std::vector<Row>> query(std::string_view sql, std::span<const Value> args) override;
  Result<std::int64_t> execute(std::string_view sql, std::span<const Value> args) override;
  Status execute_later(std::string_view sql, std::span<const Value> args) override;
  Status for_each(std::string_view sql, const std::function<Status(const Row&)>& each) override;
  Result<std::vector<Table>> tables() override;

  // As query(), for a statement that is not worth preparing and has PostgreSQL's own text.
  Result<std::vector<Row>> query_once(const std::string& sql);
  // Sends a command without arguments ahead of the next statement; a failure shows there.
  void defer(std::string_view command);
  // Waits for the answers to all that execute_later() has sent.
  Status settle();
  // How many statements that may write have been run.
  std::int64_t writes() const { return writes_; }
  // Ends a transaction whose outcome does not matter: sends ROLLBACK and does not wait for it.
  void abandon();
  // COMMIT. An error on a connection that is broken() afterwards leaves open whether it took place.
  Status commit();

  // Lost, or out of step with the server: good for nothing any more.
  bool broken() const { return broken_; }
  // A statement has failed and no savepoint has undone it.
  bool in_failed_transaction() const;
  bool collided() const { return collision_; }
  // What to tell those whose operations were undone because it is broken() or has collided().
  Error failure() const;
  // Whether since the last call a statement failed because of another transaction (serialization,
  // deadlock, lock timeout), so that the whole transaction is worth another try.
  bool take_collision();
  // For LISTEN: the socket, and what has arrived since the last call from other connections.
  int socket() const;
  Result<std::vector<std::string>> notifications();

 private:
  struct Answer {
    std::vector<Row> rows;
    std::int64_t changed = 0;
    std::string tag;
  };
  explicit PostgresConnection(pg_conn* handle) : handle_(handle) {}
  Result<Answer> run(std::string_view sql, std::span<const Value> args);
  Result<Answer> run_once(const std::string& sql);
  // Send into the pipeline, counting each command that awaits an answer; false if that fails.
  bool send_command(const char* sql);
  bool send_deferred();
  bool send(std::string_view sql, std::span<const Value> args);
  bool sync();
  // Reads the answers to all that was sent up to the sync; the last one's counts.
  Result<Answer> collect(std::string_view sql);
  // Reads what abandon() left.
  Status catch_up();
  bool wait_readable(std::chrono::steady_clock::time_point until);
  Error lost(std::string_view what);

  pg_conn* handle_;
  bool broken_ = false;
  bool collision_ = false;
  bool unread_ = false;
  std::int64_t writes_ = 0;
  std::int64_t named_ = 0;
  std::size_t sent_ = 0;               // commands since the last sync
  std::vector<std::string> prepared_;  // keys of statements_ that were prepared among them
  std::vector<std::string> deferred_;
  std::unordered_map<std::string, std::string> statements_;  // text and types -> name
};

}  // namespace loam::db
