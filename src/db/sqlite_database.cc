// SPDX-License-Identifier: Apache-2.0
#include "db/sqlite_database.h"

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/fail_point.h"
#include "base/log.h"
#include "db/sqlite_connection.h"

namespace loam::db {

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

struct Pending {
  Operation operation;
  WriteOptions options;
  SteadyTime start_by;
  std::function<void(Status)> done;
  Status outcome;
};

class SqliteDatabase final : public Database {
 public:
  SqliteDatabase(const SqliteOptions& options, std::unique_ptr<SqliteConnection> writer,
                 std::vector<std::unique_ptr<SqliteConnection>> readers)
      : options_(options), writer_(std::move(writer)), idle_readers_(std::move(readers)) {
    thread_ = std::thread([this] { run(); });
  }

  ~SqliteDatabase() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
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
    std::promise<Status> promise;
    std::future<Status> future = promise.get_future();
    write_async(std::move(operation), options,
                [&promise](Status status) { promise.set_value(std::move(status)); });
    return future.get();
  }

  void write_async(Operation operation, WriteOptions options,
                   std::function<void(Status)> done) override {
    {
      const std::lock_guard lock(mutex_);
      if (!stopping_ && queue_.size() < options_.max_queued_writes) {
        queue_.push_back({std::move(operation), options,
                          std::chrono::steady_clock::now() + options.may_wait, std::move(done),
                          Status()});
        wake_.notify_one();
        return;
      }
    }
    done(fail(ErrorCode::kResourceExhausted, "too many writes are waiting; try again shortly"));
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

  void run() {
    std::vector<Pending> batch;
    while (next_batch(batch)) {
      commit(batch);
      for (Pending& pending : batch)
        pending.done(std::move(pending.outcome));
      batch.clear();
    }
  }

  // Waits until some operation may wait no longer, then takes what is there. False at the end.
  bool next_batch(std::vector<Pending>& batch) {
    std::unique_lock lock(mutex_);
    while (true) {
      if (queue_.empty()) {
        if (stopping_) return false;
        wake_.wait(lock);
        continue;
      }
      SteadyTime start_by = SteadyTime::max();
      for (const Pending& pending : queue_)
        start_by = std::min(start_by, pending.start_by);
      if (stopping_ || queue_.size() >= options_.max_batch ||
          start_by <= std::chrono::steady_clock::now()) {
        break;
      }
      wake_.wait_until(lock, start_by);
    }
    while (!queue_.empty() && batch.size() < options_.max_batch) {
      batch.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    return true;
  }

  void commit(std::vector<Pending>& batch) {
    const Status committed = run_transaction(batch);
    if (committed) return;
    for (Pending& pending : batch) {
      if (pending.outcome) pending.outcome = fail(committed.error());
    }
    if (auto rolled_back = writer_->exec("ROLLBACK"); !rolled_back) {
      LOG_WARN("rollback failed: {}", rolled_back.error().to_string());
    }
  }

  Status run_transaction(std::vector<Pending>& batch) {
    TRY(writer_->exec("BEGIN IMMEDIATE"));
    bool counted = false;
    for (Pending& pending : batch) {
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

  const SqliteOptions options_;
  std::unique_ptr<SqliteConnection> writer_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Pending> queue_;
  bool stopping_ = false;

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
