// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "db/postgres_error.h"
#include "db/postgres_statement.h"
#include "db/postgres_url.h"

namespace loam::db {
namespace {

TEST(PostgresStatementTest, ArgumentsAreNumberedOutsideOfQuotes) {
  EXPECT_EQ(to_postgres("SELECT '?' FROM t WHERE a = ? AND b = 'it''s ?' AND c > ?"),
            "SELECT '?' FROM t WHERE a = $1 AND b = 'it''s ?' AND c > $2");
}

TEST(PostgresStatementTest, TextBecomesBytesWhereTypesAreDeclared) {
  EXPECT_EQ(to_postgres("\nCREATE TABLE t (TEXTS TEXT, a TEXT NOT NULL)"),
            "\nCREATE TABLE t (TEXTS BYTEA, a BYTEA NOT NULL)");
  EXPECT_EQ(to_postgres("ALTER TABLE t ADD COLUMN b TEXT"), "ALTER TABLE t ADD COLUMN b BYTEA");
  EXPECT_EQ(to_postgres("SELECT CAST(a AS TEXT)"), "SELECT CAST(a AS TEXT)");
}

TEST(PostgresStatementTest, SqlitesWordsForOneTreeAreDropped) {
  EXPECT_EQ(to_postgres("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)"),
            "CREATE TABLE t (a BIGINT PRIMARY KEY, b BYTEA)");
  EXPECT_EQ(to_postgres("CREATE TABLE t (a TEXT PRIMARY KEY) WITHOUT ROWID"),
            "CREATE TABLE t (a BYTEA PRIMARY KEY)");
  EXPECT_EQ(to_postgres("SELECT 'INTEGER PRIMARY KEY'"), "SELECT 'INTEGER PRIMARY KEY'");
}

TEST(PostgresErrorTest, CallersSeeMeaning) {
  EXPECT_EQ(meaning_of_sqlstate("23505"), ErrorCode::kAlreadyExists);
  EXPECT_EQ(meaning_of_sqlstate("40001"), ErrorCode::kUnavailable);
  EXPECT_EQ(meaning_of_sqlstate("57P01"), ErrorCode::kUnavailable);
  EXPECT_EQ(meaning_of_sqlstate("53100"), ErrorCode::kResourceExhausted);
  EXPECT_EQ(meaning_of_sqlstate("42601"), ErrorCode::kInternal);
  EXPECT_TRUE(is_collision("40P01"));
  EXPECT_FALSE(is_collision("23505"));
}

TEST(PostgresUrlTest, PasswordsAreNotShown) {
  EXPECT_EQ(redacted_url("postgresql://loam:hu:sh@db/x"), "postgresql://loam:***@db/x");
  EXPECT_EQ(redacted_url("postgresql://loam@db/x"), "postgresql://loam@db/x");
  EXPECT_EQ(redacted_url("postgresql://db:5432/x?user=a&password=hush&sslmode=require"),
            "postgresql://db:5432/x?user=a&password=***&sslmode=require");
  EXPECT_EQ(redacted_url("postgresql://a:b@db/x?sslpassword=c"),
            "postgresql://a:***@db/x?sslpassword=***");
  EXPECT_EQ(redacted_text("no route to hush at hush", "postgresql://a:hush@db/x"),
            "no route to *** at ***");
  std::string word = "--db=postgresql://a:hush@db/x?password=p";
  blot_passwords(word.data());
  EXPECT_EQ(word, "--db=postgresql://a:****@db/x?password=*");
  std::string plain = "http://host:80/path";
  blot_passwords(plain.data());
  EXPECT_EQ(plain, "http://host:80/path");
}

}  // namespace
}  // namespace loam::db
