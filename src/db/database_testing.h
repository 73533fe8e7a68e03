// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "base/check.h"
#include "base/random.h"
#include "db/postgres_connection.h"
#include "db/postgres_database.h"
#include "db/sqlite_database.h"

namespace loam::db::testing {

// An empty database of a test's own that is gone afterwards: SQLite in memory-backed storage where
// there is some, or, if LOAM_TEST_POSTGRES holds the URL of a PostgreSQL database, a schema there.
// So one suite serves both; e2e/test_postgres_suites.py runs them on PostgreSQL.
class TestDatabase {
 public:
  enum class Kind { kOfTheRun, kSqlite };

  explicit TestDatabase(int readers = 1, Kind kind = Kind::kOfTheRun)
      : readers_(readers), sqlite_(kind == Kind::kSqlite || server().empty()) {
    if (sqlite_) {
      std::string pattern =
          std::filesystem::exists("/dev/shm") ? "/dev/shm/loam-db-XXXXXX" : "/tmp/loam-db-XXXXXX";
      CHECK(mkdtemp(pattern.data()) != nullptr);
      place_ = pattern;
    } else {
      SystemRandom random;
      place_ = "test_" + random_token(random, 8);
      admin("CREATE SCHEMA " + place_);
    }
    database_ = open();
  }
  ~TestDatabase() {
    database_.reset();
    if (sqlite_) {
      std::filesystem::remove_all(place_);
    } else {
      admin("DROP SCHEMA " + place_ + " CASCADE");
    }
  }
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  static bool on_postgres() { return !server().empty(); }
  Database& operator*() { return *database_; }
  Database* operator->() { return database_.get(); }
  // Another program's view of the same database.
  std::unique_ptr<Database> open() const {
    auto opened = sqlite_ ? open_sqlite({.path = place_ + "/db", .readers = readers_})
                          : open_postgres({.url = url(), .readers = readers_});
    CHECK(opened.has_value());
    return std::move(*opened);
  }
  void reopen() {
    database_.reset();
    database_ = open();
  }
  // Where a schema of PostgreSQL is.
  std::string url() const {
    const std::string base = server();
    return fmt::format("{}{}options=-csearch_path%3D{}", base,
                       base.find('?') == std::string::npos ? '?' : '&', place_);
  }

 private:
  static std::string server() {
    const char* url = std::getenv("LOAM_TEST_POSTGRES");
    return url == nullptr ? "" : url;
  }
  static void admin(const std::string& sql) {
    auto connection = PostgresConnection::open(server());
    CHECK(connection.has_value());
    CHECK((*connection)->query_once(sql).has_value());
  }

  int readers_;
  bool sqlite_;
  std::string place_;  // a directory, or the name of a schema
  std::unique_ptr<Database> database_;
};

}  // namespace loam::db::testing
