// SPDX-License-Identifier: Apache-2.0
#include "db/dump.h"

#include <gtest/gtest.h>

#include <sstream>

#include "meta/meta_testing.h"
#include "meta/xattr.h"

namespace loam::meta {
namespace {

using testing::must;
using testing::World;

std::string dumped(db::Database& database) {
  std::string out;
  must(db::dump(database, {{"meta", schema_version()}}, [&](const std::string& line) -> Status {
    out += line + "\n";
    return {};
  }));
  return out;
}

// With PostgreSQL in the environment the first database is that and the other SQLite.
TEST(DumpTest, ANamespaceIsTheSameWhereItIsLoaded) {
  World world;
  world.mkdir("/d");
  const NodeRef ref = world.begin("n");
  const std::int64_t file = world.touch("/d/\xff\xfe");
  world.store(ref, world.put(ref, "/d/\xff\xfe", 7));
  must(world.link("/d/\xff\xfe", "/link"));
  must(world.write([&](Operation& op) { return set_xattr(op, file, "user.x", "\xff"); }));
  const std::string text = dumped(*world.database());

  db::testing::TestDatabase other(1, db::testing::TestDatabase::Kind::kSqlite);
  must(migrate_schema(*other));
  must(db::load(*other, {{"meta", schema_version()}}, kSeededTables,
                [&] { return std::make_unique<std::istringstream>(text); }));
  EXPECT_EQ(dumped(*other), text);
  const auto problems =
      must(other->read_value([](db::Session& session) { return check_namespace(session); }));
  EXPECT_TRUE(problems.empty()) << problems.front();
  // It goes on there, with new numbers.
  const Attributes made = must(world.write_to(*other, [](Operation& op) {
    return make_directory(op, {kRootInode, "e"}, {});
  }));
  EXPECT_GT(made.inode, file);
}

}  // namespace
}  // namespace loam::meta
