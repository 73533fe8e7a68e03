// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "db/database_testing.h"

namespace loam::db {
namespace {

class DatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(db_->write([](Session& s) -> Status {
      TRY(s.exec("CREATE TABLE t (k TEXT PRIMARY KEY, v BIGINT)"));
      return {};
    }));
  }
  std::int64_t count() {
    return *db_->read_value([](Session& s) -> Result<std::int64_t> {
      return TRY(s.row("SELECT count(*) FROM t"))->integer(0);
    });
  }

  testing::TestDatabase db_{4};
};

TEST_F(DatabaseTest, AFailedOperationLeavesNoTraceAndItsNeighboursStand) {
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

// The change that fails is the operation's last and waits for no answer.
TEST_F(DatabaseTest, AFailureThatShowsLateIsItsOwnOperationsAlone) {
  std::vector<std::thread> threads;
  std::vector<ErrorCode> codes(16, ErrorCode::kInternal);
  std::atomic<int> successes{0};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    threads.emplace_back([&, i] {
      const Status status = db_->write(
          [i](Session& s) -> Status {
            TRY_VOID(s.exec_later("INSERT INTO t VALUES (?, ?)", std::to_string(i), i));
            return s.exec_later("INSERT INTO t VALUES (?, ?)",
                                i % 4 == 3 ? "0" : fmt::format("b{}", i), i);
          },
          {.may_wait = std::chrono::milliseconds(20)});
      if (status) ++successes;
      if (!status) codes[i] = status.error().code;
    });
    // Number 0 comes first, so that the others' clash with it.
    if (i == 0) threads.back().join();
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  EXPECT_EQ(successes, 12);
  EXPECT_EQ(count(), 24);
  EXPECT_EQ(std::count(codes.begin(), codes.end(), ErrorCode::kAlreadyExists), 4);
}

TEST_F(DatabaseTest, AChangeThatWaitsForNoAnswerIsSeenByWhatFollows) {
  ASSERT_TRUE(db_->write([](Session& s) -> Status {
    for (int i = 0; i < 300; ++i)
      TRY_VOID(s.exec_later("INSERT INTO t VALUES (?, ?)", std::to_string(i), i));
    EXPECT_EQ(TRY(s.row("SELECT count(*) FROM t"))->integer(0), 300);
    TRY_VOID(s.exec_later("DELETE FROM t WHERE v >= 100"));
    EXPECT_EQ(TRY(s.exec("UPDATE t SET v = -1")), 100);
    return {};
  }));
  EXPECT_EQ(count(), 100);
  // What fails early shows at the next answer, and undoes all.
  const Status failed = db_->write([](Session& s) -> Status {
    TRY_VOID(s.exec_later("DELETE FROM t"));
    TRY_VOID(s.exec_later("INSERT INTO t VALUES ('a', 1)"));
    TRY_VOID(s.exec_later("INSERT INTO t VALUES ('a', 2)"));
    TRY(s.rows("SELECT 1"));
    return {};
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(count(), 100);
}

TEST_F(DatabaseTest, ValuesOfEveryTypeComeBackAsTheyWere) {
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

TEST_F(DatabaseTest, AReadSeesOneSnapshotAndCannotWrite) {
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

TEST_F(DatabaseTest, AConstraintIsToldApart) {
  const auto insert = [](Session& s) -> Status {
    TRY(s.exec("INSERT INTO t VALUES ('same', 1)"));
    return {};
  };
  EXPECT_TRUE(db_->write(insert));
  const Status again = db_->write(insert);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
}

TEST_F(DatabaseTest, TextComparesByteByByteAndLiteralsFit) {
  const std::string nul("\0", 1);
  ASSERT_TRUE(db_->write([&](Session& s) -> Status {
    for (const std::string& k : {std::string("Z"), std::string("a"), std::string("\xff"), nul}) {
      TRY(s.exec("INSERT INTO t VALUES (?, 1)", k));
    }
    return {};
  }));
  ASSERT_TRUE(db_->read([&](Session& s) -> Status {
    const auto rows = TRY(s.rows("SELECT k FROM t ORDER BY k"));
    EXPECT_EQ(rows.at(0).text(0), nul);
    EXPECT_EQ(rows.at(1).text(0), "Z");
    EXPECT_EQ(rows.at(2).text(0), "a");
    EXPECT_EQ(rows.at(3).text(0), "\xff");
    EXPECT_TRUE(TRY(s.row("SELECT 1 FROM t WHERE k = 'a' AND ? = 'x?'", "x?")).has_value());
    return {};
  }));
}

TEST_F(DatabaseTest, WhatExpressionsGiveIsANumber) {
  ASSERT_TRUE(db_->write([](Session& s) -> Status {
    TRY(s.exec("INSERT INTO t VALUES ('a', 4000000000000000000), ('b', -1)"));
    return {};
  }));
  ASSERT_TRUE(db_->read([](Session& s) -> Status {
    const auto row = TRY(s.row(
        "SELECT sum(v), count(*), NOT EXISTS (SELECT 1 FROM t WHERE k = 'c'), CASE WHEN max(v) > 5 "
        "THEN 1 ELSE 0 END, min(v) / 2, sum(v) - sum(v) FROM t"));
    EXPECT_EQ(row->integer(0), 3'999'999'999'999'999'999);
    EXPECT_EQ(row->integer(1), 2);
    EXPECT_TRUE(row->boolean(2));
    EXPECT_EQ(row->integer(3), 1);
    EXPECT_EQ(row->integer(4), 0);
    EXPECT_EQ(row->integer(5), 0);
    EXPECT_TRUE(TRY(s.row("SELECT sum(v) FROM t WHERE k = 'none'"))->is_null(0));
    return {};
  }));
}

TEST_F(DatabaseTest, ChangedRowsAreCountedAndReturned) {
  ASSERT_TRUE(db_->write([](Session& s) -> Status {
    EXPECT_EQ(TRY(s.exec("INSERT INTO t VALUES ('a', 1), ('b', 2)")), 2);
    EXPECT_EQ(TRY(s.exec("INSERT INTO t VALUES ('a', 9) ON CONFLICT DO NOTHING")), 0);
    EXPECT_EQ(TRY(s.exec("UPDATE t SET v = ? WHERE v = ?", nullptr, 2)), 1);
    EXPECT_EQ(TRY(s.row("UPDATE t SET v = v + 1 WHERE k = ? RETURNING v", "a"))->integer(0), 2);
    return {};
  }));
}

TEST_F(DatabaseTest, AStatementsFailureCanBeUndoneByASavepoint) {
  ASSERT_TRUE(db_->write([](Session& s) -> Status {
    TRY(s.exec("INSERT INTO t VALUES ('a', 1)"));
    TRY(s.exec("SAVEPOINT mine"));
    EXPECT_FALSE(s.exec("INSERT INTO t VALUES ('a', 2)"));
    TRY(s.exec("ROLLBACK TO mine"));
    TRY(s.exec("RELEASE mine"));
    TRY(s.exec("INSERT INTO t VALUES ('b', 1)"));
    return {};
  }));
  EXPECT_EQ(count(), 2);
}

TEST_F(DatabaseTest, ManyRowsComeOneByOne) {
  ASSERT_TRUE(db_->write([](Session& s) -> Status {
    for (int i = 0; i < 1'200; ++i)
      TRY(s.exec("INSERT INTO t VALUES (?, ?)", std::to_string(i), i));
    return {};
  }));
  std::int64_t next = 0;
  ASSERT_TRUE(db_->read([&](Session& s) -> Status {
    next = 0;
    return s.for_each("SELECT v FROM t ORDER BY v", [&](const Row& row) -> Status {
      EXPECT_EQ(row.integer(0), next++);
      return {};
    });
  }));
  EXPECT_EQ(next, 1'200);
  const Status ended = db_->read([](Session& s) {
    return s.for_each("SELECT v FROM t",
                      [](const Row&) -> Status { return fail(ErrorCode::kCanceled, "enough"); });
  });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kCanceled);
  EXPECT_EQ(count(), 1'200);
}

TEST_F(DatabaseTest, TablesAreListedWithTheirColumns) {
  ASSERT_TRUE(db_->read([](Session& s) -> Status {
    const auto tables = TRY(s.tables());
    EXPECT_EQ(tables.size(), 1U);
    EXPECT_EQ(tables.at(0).name, "t");
    EXPECT_EQ(tables.at(0).columns, (std::vector<std::string>{"k", "v"}));
    return {};
  }));
}

TEST_F(DatabaseTest, FoldersCountTheirMigrationsApart) {
  const std::vector<Migration> ours{{1, "CREATE TABLE a (x BIGINT)"},
                                    {2, "CREATE TABLE b (x BIGINT)"}};
  const std::vector<Migration> theirs{{1, "CREATE TABLE c (x INTEGER PRIMARY KEY) WITHOUT ROWID"}};
  ASSERT_TRUE(migrate(*db_, ours));
  ASSERT_TRUE(migrate(*db_, theirs, "their_schema_version"));
  ASSERT_TRUE(migrate(*db_, ours));
  ASSERT_TRUE(db_->read([](Session& s) -> Status {
    EXPECT_EQ(TRY(s.row("SELECT version FROM schema_version"))->integer(0), 2);
    EXPECT_EQ(TRY(s.row("SELECT version FROM their_schema_version"))->integer(0), 1);
    TRY(s.row("SELECT x FROM c"));
    return {};
  }));
}

TEST_F(DatabaseTest, MigrationsRunOnceAndANewerDatabaseIsRefused) {
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

TEST_F(DatabaseTest, WhatWasWrittenIsThereAfterReopening) {
  ASSERT_TRUE(db_->write([](Session& s) -> Status {
    TRY(s.exec("INSERT INTO t VALUES ('kept', 1)"));
    return {};
  }));
  db_.reopen();
  EXPECT_EQ(count(), 1);
}

}  // namespace
}  // namespace loam::db
