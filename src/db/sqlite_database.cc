// SPDX-License-Identifier: Apache-2.0
#include "db/sqlite_database.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/fail_point.h"
#include "base/log.h"
#include "db/sqlite_connection.h"
#include "db/write_queue.h"

namespace loam::db {

namespace {

class SqliteDatabase final : public Database {
 public:
  SqliteDatabase(const SqliteOptions& options, std::unique_ptr<SqliteConnection> writer,
                 std::vector<std::unique_ptr<SqliteConnection>> readers)
      : queue_(options.max_queued_writes, options.max_batch),
        writer_(std::move(writer)),
        idle_readers_(std::move(readers)) {
    thread_ = std::thread([this] { queue_.serve([this](auto& batch) { commit(batch); }); });
  }

  ~SqliteDatabase() override {
    queue_.stop();
    thread_.join();
  }

  Status read(const Operation& operation) override {
    std::unique_ptr<SqliteConnection> connection = take_reader();
    Status status = [&]() -> Status {
      TRY(connection->exec("BEGIN"));
      return operation(*connection);
    }();
    // The transaction only reads, so ending it either way is the same and cannot lose anything.
    if (auto ended = connection->exec("ROLLBACK"); !ended && status) status = fail(ended.error());
    give_back(std::move(connection));
    return status;
  }

  Status write(Operation operation, WriteOptions options) override {
    return queue_.add_and_wait(std::move(operation), options);
  }

  void write_async(Operation operation, WriteOptions options,
                   std::function<void(Status)> done) override {
    queue_.add(std::move(operation), options, std::move(done));
  }

 private:
  std::unique_ptr<SqliteConnection> take_reader() {
    std::unique_lock lock(readers_mutex_);
    reader_free_.wait(lock, [&] { return !idle_readers_.empty(); });
    auto connection = std::move(idle_readers_.back());
    idle_readers_.pop_back();
    return connection;
  }

  void give_back(std::unique_ptr<SqliteConnection> connection) {
    {
      const std::lock_guard lock(readers_mutex_);
      idle_readers_.push_back(std::move(connection));
    }
    reader_free_.notify_one();
  }

  void commit(std::vector<PendingWrite>& batch) {
    const Status committed = run_transaction(batch);
    if (committed) return;
    for (PendingWrite& pending : batch) {
      if (pending.outcome) pending.outcome = fail(committed.error());
    }
    if (auto rolled_back = writer_->exec("ROLLBACK"); !rolled_back) {
      LOG_WARN("rollback failed: {}", rolled_back.error().to_string());
    }
  }

  Status run_transaction(std::vector<PendingWrite>& batch) {
    TRY(writer_->exec("BEGIN IMMEDIATE"));
    bool counted = false;
    for (PendingWrite& pending : batch) {
      TRY(writer_->exec("SAVEPOINT op"));
      pending.outcome = pending.operation(*writer_);
      if (!pending.outcome) TRY(writer_->exec("ROLLBACK TO op"));
      TRY(writer_->exec("RELEASE op"));
      counted = counted || (pending.outcome && pending.options.crash_point);
    }
    if (counted) crash_point();
    TRY(writer_->exec("COMMIT"));
    if (counted) crash_point();
    return {};
  }

  WriteQueue queue_;
  std::unique_ptr<SqliteConnection> writer_;

  std::mutex readers_mutex_;
  std::condition_variable reader_free_;
  std::vector<std::unique_ptr<SqliteConnection>> idle_readers_;

  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Database>> open_sqlite(const SqliteOptions& options) {
  CHECK(options.readers > 0);
  auto writer = TRY(SqliteConnection::open(options.path, /*read_only=*/false));
  std::vector<std::unique_ptr<SqliteConnection>> readers;
  for (int i = 0; i < options.readers; ++i) {
    readers.push_back(TRY(SqliteConnection::open(options.path, /*read_only=*/true)));
  }
  return std::unique_ptr<Database>(
      std::make_unique<SqliteDatabase>(options, std::move(writer), std::move(readers)));
}

}  // namespace loam::db
