// SPDX-License-Identifier: Apache-2.0
#include "db/sqlite_database.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

namespace loam::db {
namespace {

class SqliteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/loam-db-XXXXXX";
    directory_ = mkdtemp(pattern);
    open();
    ASSERT_TRUE(db_->write([](Session& s) -> Status {
      TRY(s.exec("CREATE TABLE t (k TEXT PRIMARY KEY, v BIGINT)"));
      return {};
    }));
  }
  void TearDown() override {
    db_.reset();
    std::filesystem::remove_all(directory_);
  }
  void open() {
    auto opened = open_sqlite({.path = directory_ + "/db"});
    ASSERT_TRUE(opened) << opened.error().to_string();
    db_ = std::move(*opened);
  }
  std::int64_t count() {
    return *db_->read_value([](Session& s) -> Result<std::int64_t> {
      return TRY(s.row("SELECT count(*) FROM t"))->integer(0);
    });
  }

  std::string directory_;
  std::unique_ptr<Database> db_;
};

TEST_F(SqliteTest, AFailedOperationLeavesNoTraceAndItsNeighboursStand) {
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([&, i] {
      const Status status = db_->write(
          [i](Session& s) -> Status {
            TRY(s.exec("INSERT INTO t VALUES (?, ?)", std::to_string(i), i));
            if (i % 2 == 1) return fail(ErrorCode::kConflict, "odd");
            return {};
          },
          {.may_wait = std::chrono::milliseconds(20)});
      if (!status) ++failures;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(failures, 16);
  EXPECT_EQ(count(), 16);
}

TEST_F(SqliteTest, ValuesOfEveryTypeComeBackAsTheyWere) {
  const std::string odd("a\0b\xff", 4);
  ASSERT_TRUE(db_->write([&](Session& s) -> Status {
    TRY(s.exec("INSERT INTO t VALUES (?, ?)", odd, nullptr));
    TRY(s.exec("INSERT INTO t VALUES (?, ?)", "max", INT64_MAX));
    return {};
  }));
  ASSERT_TRUE(db_->read([&](Session& s) -> Status {
    const auto rows = TRY(s.rows("SELECT k, v FROM t WHERE k = ?", odd));
    EXPECT_EQ(rows.at(0).text(0), odd);
    EXPECT_FALSE(rows.at(0).opt_integer(1).has_value());
    EXPECT_EQ(TRY(s.row("SELECT v FROM t WHERE k = 'max'"))->integer(0), INT64_MAX);
    return {};
  }));
}

TEST_F(SqliteTest, AReadSeesOneSnapshotAndCannotWrite) {
  ASSERT_TRUE(db_->read([&](Session& s) -> Status {
    EXPECT_EQ(TRY(s.row("SELECT count(*) FROM t"))->integer(0), 0);
    EXPECT_TRUE(db_->write([](Session& w) -> Status {
      TRY(w.exec("INSERT INTO t VALUES ('x', 1)"));
      return {};
    }));
    EXPECT_EQ(TRY(s.row("SELECT count(*) FROM t"))->integer(0), 0);
    EXPECT_FALSE(s.exec("INSERT INTO t VALUES ('y', 1)"));
    return {};
  }));
  EXPECT_EQ(count(), 1);
}

TEST_F(SqliteTest, AConstraintIsToldApart) {
  const auto insert = [](Session& s) -> Status {
    TRY(s.exec("INSERT INTO t VALUES ('same', 1)"));
    return {};
  };
  EXPECT_TRUE(db_->write(insert));
  const Status again = db_->write(insert);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
}

TEST_F(SqliteTest, MigrationsRunOnceAndANewerDatabaseIsRefused) {
  const std::vector<Migration> two{{1, "CREATE TABLE a (x BIGINT); INSERT INTO a VALUES (1)"},
                                   {2, "INSERT INTO a VALUES (2);"}};
  ASSERT_TRUE(migrate(*db_, two));
  ASSERT_TRUE(migrate(*db_, two));
  EXPECT_EQ(*db_->read_value([](Session& s) -> Result<std::int64_t> {
    return TRY(s.row("SELECT count(*) FROM a"))->integer(0);
  }),
            2);
  const Status older = migrate(*db_, std::span(two).first(1));
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().code, ErrorCode::kConflict);
}

TEST_F(SqliteTest, WhatWasWrittenIsThereAfterReopening) {
  ASSERT_TRUE(db_->write([](Session& s) -> Status {
    TRY(s.exec("INSERT INTO t VALUES ('kept', 1)"));
    return {};
  }));
  db_.reset();
  open();
  EXPECT_EQ(count(), 1);
}

}  // namespace
}  // namespace loam::db
