// SPDX-License-Identifier: Apache-2.0
#include "db/dump.h"

#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "db/database_testing.h"

namespace loam::db {
namespace {

using testing::TestDatabase;

constexpr std::array<Migration, 1> kTables{
    {{1,
      "CREATE TABLE counter (name TEXT PRIMARY KEY, value BIGINT NOT NULL);"
      "INSERT INTO counter VALUES ('n', 0);"
      "CREATE TABLE thing (id TEXT PRIMARY KEY, count BIGINT, price DOUBLE PRECISION, note "
      "TEXT)"}}};
constexpr std::array<std::string_view, 1> kSeeded{"counter"};

const Schemas kSchemas{{"ours", 1}, {"theirs", 3}};

std::string dumped(Database& database) {
  std::string out;
  const auto rows = dump(database, kSchemas, [&](const std::string& line) -> Status {
    out += line + "\n";
    return {};
  });
  EXPECT_TRUE(rows) << rows.error().to_string();
  return out;
}

Result<std::int64_t> loaded(Database& database, const std::string& text) {
  return load(database, kSchemas, kSeeded,
              [&] { return std::make_unique<std::istringstream>(text); });
}

void fill(Database& database) {
  ASSERT_TRUE(migrate(database, kTables));
  ASSERT_TRUE(database.write([](Session& s) -> Status {
    TRY(s.exec("UPDATE counter SET value = 7"));
    TRY(s.exec("INSERT INTO thing VALUES (?, ?, ?, ?)", "b", 3, 0.0, "ünï\ncode\""));
    TRY(s.exec("INSERT INTO thing VALUES (?, ?, ?, ?)", "a", INT64_MAX, 0.1, nullptr));
    TRY(s.exec("INSERT INTO thing VALUES (?, ?, ?, ?)", std::string("\xff\0x", 3), nullptr, nullptr,
               std::string("\0", 1)));
    return {};
  }));
}

// With PostgreSQL in the environment one side is that and the other SQLite, and so both ways.
TEST(DumpTest, ADumpLoadedElsewhereDumpsTheSame) {
  TestDatabase first;
  TestDatabase second(1, TestDatabase::Kind::kSqlite);
  TestDatabase third;
  fill(*first);
  const std::string text = dumped(*first);
  ASSERT_TRUE(migrate(*second, kTables));
  auto rows = loaded(*second, text);
  ASSERT_TRUE(rows) << rows.error().to_string();
  EXPECT_EQ(*rows, 4);
  EXPECT_EQ(dumped(*second), text);
  ASSERT_TRUE(migrate(*third, kTables));
  rows = loaded(*third, dumped(*second));
  ASSERT_TRUE(rows) << rows.error().to_string();
  EXPECT_EQ(dumped(*third), text);
}

TEST(DumpTest, ADatabaseInUseIsLeftAlone) {
  TestDatabase first;
  TestDatabase second;
  fill(*first);
  fill(*second);
  const std::string before = dumped(*second);
  const auto rows = loaded(*second, dumped(*first));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, ErrorCode::kConflict);
  EXPECT_EQ(dumped(*second), before);
}

TEST(DumpTest, ADamagedDumpLoadsNothing) {
  TestDatabase first;
  TestDatabase second;
  fill(*first);
  const std::string text = dumped(*first);
  ASSERT_TRUE(migrate(*second, kTables));
  const std::string before = dumped(*second);
  std::string changed = text;
  changed.replace(changed.find("[\"b\",3"), 6, "[\"b\",4");
  std::string headless = text.substr(text.find('\n') + 1);
  std::string newer = text;
  newer.replace(newer.find("\"theirs\":3"), 10, "\"theirs\":9");
  for (const std::string& bad : {changed, headless, newer, text.substr(0, text.size() / 2),
                                 text.substr(0, text.rfind("{\"end\"")), std::string()}) {
    EXPECT_FALSE(loaded(*second, bad)) << bad;
    EXPECT_EQ(dumped(*second), before);
  }
}

}  // namespace
}  // namespace loam::db
