// SPDX-License-Identifier: Apache-2.0
#include "db/postgres_database.h"

#include <fmt/format.h>

#include <iterator>
#include <thread>

#include "base/check.h"
#include "base/fail_point.h"
#include "base/log.h"
#include "db/postgres_broadcast.h"
#include "db/postgres_connector.h"
#include "db/postgres_readers.h"
#include "db/write_queue.h"

namespace loam::db {

namespace {

constexpr int kMostTries = 5;
// A transaction takes in no more operations after this time, so that other programs get their turn.
constexpr std::chrono::milliseconds kTurn{200};
// The first number says "loam" to whoever looks at pg_locks; the second tells schemas apart.
constexpr const char* kTakeTurn =
    "SELECT CAST(pg_current_xact_id() AS TEXT), pg_advisory_xact_lock(1819238765, "
    "hashtext(current_schema()))";

class PostgresDatabase final : public Database {
 public:
  explicit PostgresDatabase(const PostgresOptions& options)
      : connector_(options.url, options.patience),
        readers_(connector_, options.readers),
        broadcast_(options.url),
        queue_(options.max_queued_writes, options.max_batch) {
    thread_ = std::thread([this] { queue_.serve([this](auto& batch) { commit(batch); }); });
  }

  ~PostgresDatabase() override {
    connector_.stop();
    queue_.stop();
    thread_.join();
  }

  Status read(const Operation& operation) override { return readers_.read(operation); }

  Status write(Operation operation, WriteOptions options) override {
    return queue_.add_and_wait(std::move(operation), options);
  }

  void write_async(Operation operation, WriteOptions options,
                   std::function<void(Status)> done) override {
    queue_.add(std::move(operation), options, std::move(done));
  }

  bool shared() const override { return true; }
  void broadcast(std::string message) override { broadcast_.send(std::move(message)); }
  void on_broadcast(std::function<void(const std::string&)> handler) override {
    broadcast_.set_handler(std::move(handler));
  }

 private:
  enum class Fate { kCommitted, kNotCommitted, kUnknown };

  // Runs the batch until it is committed or known not to be.
  void commit(std::vector<PendingWrite>& batch) {
    Status committed;
    bool careful = false;
    for (int tried = 1; tried <= kMostTries; ++tried) {
      std::string unclear;
      bool again = false;
      committed = run_transaction(batch, careful, unclear, again);
      if (committed || !again) break;
      if (unclear.empty()) continue;
      const Fate fate = fate_of(unclear);
      if (fate == Fate::kCommitted) return;
      if (fate == Fate::kUnknown) break;
    }
    if (committed) return;
    for (PendingWrite& pending : batch) {
      if (pending.outcome) pending.outcome = fail(committed.error());
    }
  }

  // On failure `again` says whether another try makes sense: the connection was lost, another
  // transaction was in the way, or an operation failed that was not undone alone, which sets
  // `careful`. `unclear` names the transaction if it was lost in its commit.
  Status run_transaction(std::vector<PendingWrite>& batch, bool& careful, std::string& unclear,
                         bool& again) {
    if (!writer_) writer_ = TRY(connector_.connect());
    PostgresConnection& connection = *writer_;
    std::string committing;
    const Status done = [&]() -> Status {
      connection.defer("BEGIN ISOLATION LEVEL READ COMMITTED");
      const auto id = TRY(connection.query(kTakeTurn, {}));
      Ran ran;
      TRY_VOID(run_operations(connection, batch, careful, ran));
      if (!ran.any) return {};
      if (ran.counted) crash_point();
      committing = id.at(0).text(0);
      TRY_VOID(connection.commit());
      if (ran.counted) crash_point();
      return {};
    }();
    again = connection.take_collision() || connection.broken();
    if (!done && !again && !careful && batch.size() > 1) again = careful = true;
    if (connection.broken()) {
      unclear = committing;
      writer_.reset();
    } else {
      connection.abandon();
    }
    return done;
  }

  struct Ran {
    bool any = false;      // something is to be committed
    bool counted = false;  // and it counts as a crash point
  };
  Status run_operations(PostgresConnection& connection, std::vector<PendingWrite>& batch,
                        bool careful, Ran& out) {
    const auto begin = std::chrono::steady_clock::now();
    std::size_t ran = 0;
    for (; ran < batch.size(); ++ran) {
      if (ran > 0 && std::chrono::steady_clock::now() > begin + kTurn) break;
      TRY_VOID(run_operation(connection, batch[ran], careful));
      out.any = out.any || batch[ran].outcome;
      out.counted = out.counted || (batch[ran].outcome && batch[ran].options.crash_point);
    }
    leave_rest(batch, ran);
    return {};
  }

  // An error is the whole transaction's; the operation's own is its outcome. Most operations that
  // fail have only read until then. So none has a savepoint at first, and if one fails that has
  // written, the transaction is run again, carefully, with a savepoint for each.
  Status run_operation(PostgresConnection& connection, PendingWrite& pending, bool careful) {
    if (careful) connection.defer("SAVEPOINT op");
    const std::int64_t writes = connection.writes();
    pending.outcome = pending.operation(connection);
    if (careful) {
      const Status settled = connection.settle();
      if (pending.outcome) pending.outcome = settled;
    }
    if (connection.broken() || connection.collided()) return fail(connection.failure());
    if (pending.outcome && connection.in_failed_transaction()) {
      pending.outcome = fail(ErrorCode::kInternal, "an operation went on after a failed statement");
    }
    if (!careful) {
      const bool nothing_to_undo =
          connection.writes() == writes && !connection.in_failed_transaction();
      if (pending.outcome || nothing_to_undo) return {};
      return fail(pending.outcome.error());
    }
    if (!pending.outcome) connection.defer("ROLLBACK TO op");
    connection.defer("RELEASE op");
    return {};
  }

  void leave_rest(std::vector<PendingWrite>& batch, std::size_t ran) {
    if (ran == batch.size()) return;
    const auto rest = batch.begin() + static_cast<std::ptrdiff_t>(ran);
    queue_.put_back({std::make_move_iterator(rest), std::make_move_iterator(batch.end())});
    batch.erase(rest, batch.end());
  }

  // What became of a transaction whose commit was not answered. Once the lock is ours, its session
  // has ended one way or the other.
  Fate fate_of(const std::string& transaction) {
    for (int tried = 1; tried <= kMostTries; ++tried) {
      auto connection = connector_.connect();
      if (!connection) break;
      const auto status = [&]() -> Result<std::string> {
        (*connection)->defer("BEGIN ISOLATION LEVEL READ COMMITTED");
        TRY((*connection)->query(kTakeTurn, {}));
        const auto row =
            TRY((*connection)
                    ->query_once(fmt::format("SELECT pg_xact_status(xid8 '{}')", transaction)));
        return row.at(0).opt_text(0).value_or("");
      }();
      (*connection)->abandon();
      if (!status) continue;
      writer_ = std::move(*connection);
      LOG_INFO("the commit that got no answer was {}", *status);
      if (*status == "committed") return Fate::kCommitted;
      if (*status == "aborted") return Fate::kNotCommitted;
      break;
    }
    LOG_WARN("whether transaction {} was committed is not known", transaction);
    return Fate::kUnknown;
  }

  PostgresConnector connector_;
  PostgresReaders readers_;
  PostgresBroadcast broadcast_;
  WriteQueue queue_;
  std::unique_ptr<PostgresConnection> writer_;  // the writer thread's, once it runs
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Database>> open_postgres(const PostgresOptions& options) {
  CHECK(options.readers > 0 && options.max_batch > 0);
  // A URL that is wrong should show at once, not at the first operation.
  PostgresConnector connector(options.url, options.patience);
  TRY(connector.connect());
  return std::unique_ptr<Database>(std::make_unique<PostgresDatabase>(options));
}

}  // namespace loam::db
