// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "meta/change.h"
#include "meta/find.h"
#include "meta/meta_testing.h"
#include "meta/statfs.h"
#include "meta/xattr.h"

namespace loam::meta {
namespace {

using testing::code_of;
using testing::must;
using testing::World;

class SpaceTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(world_.problems(), ""); }
  void file(const std::string& path, std::int64_t size, std::int64_t mtime_ns) {
    const std::int64_t inode = world_.touch(path);
    must(world_.write(
        [&](Operation& op) { return setattr(op, inode, {.size = size, .mtime_ns = mtime_ns}); }));
  }
  // All answers' paths, asking for `query.limit` at a time.
  std::multiset<std::string> find(FindQuery query) {
    std::multiset<std::string> out;
    while (true) {
      const FindAnswer answer =
          must(world_.read([&](db::Session& s) { return find_files(s, query); }));
      EXPECT_LE(answer.hits.size(), static_cast<std::size_t>(query.limit));
      for (const FindAnswer::Hit& hit : answer.hits)
        out.insert(hit.path);
      if (!answer.next) return out;
      query.after = *answer.next;
    }
  }

  World world_;
};

TEST_F(SpaceTest, FindAnswersBySizeAgeAndPlace) {
  world_.mkdir("/a");
  world_.mkdir("/a/b");
  world_.mkdir("/c");
  file("/a/one", 1'000, 10);
  file("/a/b/two", 1'100, 20);
  file("/a/b/big", 1 << 20, 30);
  file("/c/other", 1 << 20, 10);
  file("/a/empty", 0, 10);
  using Paths = std::multiset<std::string>;
  for (const std::int64_t limit : {1, 2, 100}) {
    EXPECT_EQ(find({.min_size = 1'001, .limit = limit}),
              (Paths{"/a/b/two", "/a/b/big", "/c/other"}));
    EXPECT_EQ(find({.max_mtime_ns = 10, .limit = limit}),
              (Paths{"/a/one", "/c/other", "/a/empty"}));
    EXPECT_EQ(find({.directory = world_.at("/a"), .min_size = 1, .limit = limit}),
              (Paths{"/a/one", "/a/b/two", "/a/b/big"}));
    EXPECT_EQ(find({.directory = world_.at("/a/b"), .max_mtime_ns = 20, .limit = limit}),
              (Paths{"/a/b/two"}));
  }
  must(world_.unlink("/a/b/big"));
  EXPECT_EQ(find({.directory = world_.at("/a"), .min_size = 2'000}), Paths{});
  const std::int64_t inode = world_.at("/a/one");
  EXPECT_EQ(
      code_of(world_.read([&](db::Session& s) { return find_files(s, {.directory = inode}); })),
      ErrorCode::kNotDirectory);
}

TEST_F(SpaceTest, UsageRisesLevelByLevelAndMovesWithADirectory) {
  world_.mkdir("/a");
  world_.mkdir("/a/b");
  world_.mkdir("/z");
  file("/a/b/f", 7, 0);
  const auto fold = [&] {
    return must(world_.write([](Operation& op) { return fold_usage(op, 1'000); }));
  };
  EXPECT_GT(fold(), 0);
  // Half folded, the directory moves: the rest follows it.
  must(world_.rename("/a/b", "/z/b"));
  EXPECT_EQ(world_.problems(), "");
  while (fold() > 0) {
  }
  EXPECT_EQ(world_.usage("/a").bytes, 0);
  EXPECT_EQ(world_.usage("/a").files, 0);
  EXPECT_EQ(world_.usage("/z").bytes, 7);
  EXPECT_EQ(world_.usage("/z").files, 2);
  EXPECT_EQ(world_.usage("/").files, 4);
}

TEST_F(SpaceTest, DfShowsTheTightestQuota) {
  world_.mkdir("/a");
  world_.mkdir("/a/b");
  file("/a/b/f", 60, 0);
  const auto quota = [&](const std::string& path, std::optional<std::int64_t> max_bytes) {
    const std::int64_t directory = world_.at(path);
    must(world_.write([&](Operation& op) {
      return set_quota(op, {.directory = directory, .max_bytes = max_bytes});
    }));
  };
  const auto space = [&](const std::string& path) {
    must(world_.write([](Operation& op) { return fold_all_usage(op); }));
    const std::int64_t directory = world_.at(path);
    return must(world_.read([&](db::Session& s) { return statfs(s, directory); }));
  };
  EXPECT_EQ(space("/a/b").used.files, 3);
  EXPECT_EQ(space("/a/b").bytes_left, std::nullopt);
  quota("/a", 100);
  quota("/a/b", 1'000);
  EXPECT_EQ(space("/a/b").used.bytes, 60);
  EXPECT_EQ(space("/a/b").bytes_left, 40);
  EXPECT_EQ(space("/a/b").files_left, std::nullopt);
  quota("/a", 50);
  EXPECT_EQ(space("/a").bytes_left, 0);
}

TEST_F(SpaceTest, ExtendedAttributesHaveBounds) {
  const std::int64_t file = world_.touch("/f");
  const auto set = [&](const std::string& name, const std::string& value,
                       XattrMode mode = XattrMode::kAny) {
    return world_.write([&](Operation& op) { return set_xattr(op, file, name, value, mode); });
  };
  const auto get = [&](const std::string& name) {
    return world_.read([&](db::Session& s) { return get_xattr(s, file, name); });
  };
  const std::string bytes("\0\xff", 2);
  must(set("user.b", bytes));
  must(set("user.a", "1", XattrMode::kCreate));
  EXPECT_EQ(must(get("user.b")), bytes);
  EXPECT_EQ(must(world_.read([&](db::Session& s) { return list_xattrs(s, file); })),
            (std::vector<std::string>{"user.a", "user.b"}));
  EXPECT_EQ(code_of(set("user.a", "2", XattrMode::kCreate)), ErrorCode::kAlreadyExists);
  EXPECT_EQ(code_of(set("user.c", "2", XattrMode::kReplace)), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(set("", "")), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(set(std::string(256, 'x'), "")), ErrorCode::kTooLarge);
  EXPECT_EQ(code_of(set("user.c", std::string((64 << 10) + 1, 'x'))), ErrorCode::kTooLarge);
  for (int i = 0; i < 3; ++i)
    must(set("user.big" + std::to_string(i), std::string(64 << 10, 'x')));
  EXPECT_EQ(code_of(set("user.big3", std::string(64 << 10, 'x'))), ErrorCode::kTooLarge);
  const auto remove = [&](const std::string& name) {
    return world_.write([&](Operation& op) { return remove_xattr(op, file, name); });
  };
  must(remove("user.a"));
  EXPECT_EQ(code_of(remove("user.a")), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(get("user.a")), ErrorCode::kNotFound);
  world_.lease_ms += 1;
}

TEST_F(SpaceTest, ChangesAreReadInOrderAndALateReaderStartsAnew) {
  const auto changes = [&](std::int64_t position) {
    return must(world_.read([&](db::Session& s) { return read_changes(s, position, 3); }));
  };
  const std::int64_t file = world_.touch("/f");
  must(world_.rename("/f", "/g"));
  must(world_.truncate("/g", 1));
  const Changes first = changes(0);
  EXPECT_FALSE(first.reset);
  ASSERT_EQ(first.changes.size(), 3U);
  EXPECT_EQ(first.changes[0].kind, ChangeKind::kEntry);
  EXPECT_EQ(first.changes[1].place.name, "f");
  EXPECT_EQ(first.changes[2].place.name, "g");
  EXPECT_EQ(first.changes[2].inode, file);
  const Changes rest = changes(first.position);
  ASSERT_FALSE(rest.changes.empty());
  EXPECT_EQ(rest.changes[0].kind, ChangeKind::kContent);
  must(world_.write([](Operation& op) { return trim_changes(op, 1, 100); }));
  EXPECT_TRUE(changes(0).reset);
  EXPECT_FALSE(changes(changes(0).position).reset);
  EXPECT_TRUE(changes(1'000).reset);
}

}  // namespace
}  // namespace loam::meta
