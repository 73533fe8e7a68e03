// SPDX-License-Identifier: Apache-2.0
#include "db/postgres_database.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "db/database_testing.h"

namespace loam::db {
namespace {

using testing::TestDatabase;

// What only a database of several programs can show. Skipped without one; see TestDatabase.
class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!TestDatabase::on_postgres()) GTEST_SKIP() << "LOAM_TEST_POSTGRES is not set";
    ASSERT_TRUE(db_->write([](Session& s) -> Status {
      TRY(s.exec("CREATE TABLE counter (id BIGINT PRIMARY KEY, value BIGINT NOT NULL)"));
      TRY(s.exec("CREATE TABLE taken (number BIGINT PRIMARY KEY)"));
      TRY(s.exec("INSERT INTO counter VALUES (1, 0)"));
      return {};
    }));
  }

  // Reads, decides and writes, as no single statement would: the order of the writers has to hold.
  static Status count_up(Session& s) {
    const std::int64_t value = TRY(s.row("SELECT value FROM counter WHERE id = 1"))->integer(0);
    TRY(s.exec("UPDATE counter SET value = ? WHERE id = 1", value + 1));
    TRY(s.exec("INSERT INTO taken VALUES (?)", value + 1));
    return {};
  }
  std::int64_t number(std::string_view sql) {
    return *db_->read_value(
        [&](Session& s) -> Result<std::int64_t> { return TRY(s.row(sql))->integer(0); });
  }

  TestDatabase db_{4};
};

TEST_F(PostgresTest, WritersOfTwoProgramsFollowOneAnother) {
  const auto other = db_.open();
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, database = i % 2 == 0 ? &*db_ : other.get()] {
      for (int k = 0; k < 40; ++k)
        failed += database->write(count_up) ? 0 : 1;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(number("SELECT value FROM counter"), 240);
  EXPECT_EQ(number("SELECT count(*) FROM taken"), 240);
}

TEST_F(PostgresTest, AReaderThatSeesANumberSeesAllBelowIt) {
  const auto other = db_.open();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (Database* database : {&*db_, other.get()}) {
    threads.emplace_back([&stop, database] {
      while (!stop)
        EXPECT_TRUE(database->write(count_up));
    });
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(db_->read([](Session& s) -> Status {
      const auto row = TRY(s.row("SELECT coalesce(max(number), 0), count(*) FROM taken"));
      EXPECT_EQ(row->integer(0), row->integer(1));
      return {};
    }));
  }
  stop = true;
  for (std::thread& thread : threads)
    thread.join();
}

TEST_F(PostgresTest, LostConnectionsLoseAndDoubleNothing) {
  constexpr int kWrites = 300;
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kWrites / 3; ++k) {
        const Status status = db_->write(count_up);
        EXPECT_TRUE(status) << status.error().to_string();
        EXPECT_TRUE(db_->read([](Session& s) -> Status {
          TRY(s.row("SELECT value FROM counter"));
          return {};
        }));
        ++done;
      }
    });
  }
  // Every session of this test is ended again and again, wherever it happens to be.
  auto killer = PostgresConnection::open(db_.url());
  ASSERT_TRUE(killer);
  int last = 0;
  int rounds = 0;
  while (done < kWrites) {
    if (done < last + 10) {
      std::this_thread::yield();
      continue;
    }
    last = done;
    ++rounds;
    EXPECT_TRUE((*killer)->query_once(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
        "datname = current_database() AND application_name = 'loam'"));
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_GT(rounds, 5);
  EXPECT_EQ(number("SELECT value FROM counter"), kWrites);
  EXPECT_EQ(number("SELECT count(*) FROM taken"), kWrites);
}

TEST_F(PostgresTest, AnOperationThatGoesOnAfterAFailedStatementFailsAlone) {
  std::vector<Status> outcomes(3);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      outcomes[static_cast<std::size_t>(i)] = db_->write(
          [i](Session& s) -> Status {
            TRY(s.exec("INSERT INTO taken VALUES (?)", i));
            if (i == 1) static_cast<void>(s.exec("INSERT INTO taken VALUES (?)", i));
            return {};
          },
          {.may_wait = std::chrono::milliseconds(50)});
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_TRUE(outcomes[0]);
  EXPECT_FALSE(outcomes[1]);
  EXPECT_TRUE(outcomes[2]);
  EXPECT_EQ(number("SELECT count(*) FROM taken"), 2);
}

TEST_F(PostgresTest, OthersHearWhatIsBroadcast) {
  const auto other = db_.open();
  std::mutex mutex;
  std::condition_variable heard;
  std::vector<std::string> messages;
  other->on_broadcast([&](const std::string& message) {
    const std::lock_guard lock(mutex);
    messages.push_back(message);
    heard.notify_all();
  });
  bool echoed = false;
  db_->on_broadcast([&](const std::string&) { echoed = true; });
  const std::string odd("it's \0 \xff", 8);
  // What is said before the other listens is lost, so it is said until it is heard.
  std::unique_lock lock(mutex);
  for (int i = 0; i < 200 && messages.empty(); ++i) {
    db_->broadcast(odd);
    heard.wait_for(lock, std::chrono::milliseconds(100), [&] { return !messages.empty(); });
  }
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages.front(), odd);
  lock.unlock();
  other->on_broadcast({});
  db_->on_broadcast({});
  EXPECT_FALSE(echoed);
}

TEST(PostgresOutageTest, ADatabaseThatIsNotThereIsGivenUpInTime) {
  const auto begin = std::chrono::steady_clock::now();
  const auto opened = open_postgres({.url = "postgresql://loam:hush@127.0.0.1:1/loam",
                                     .patience = std::chrono::milliseconds(300)});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(opened.error().message.find("hush"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace loam::db
