// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "meta/collect.h"
#include "meta/loss.h"
#include "meta/meta_testing.h"
#include "meta/object_key.h"

namespace loam::meta {
namespace {

using testing::code_of;
using testing::must;
using testing::World;

class CommitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    world_.mkdir("/d");
    file_ = world_.touch("/d/f");
    ref_ = world_.begin("n1");
  }
  void TearDown() override { EXPECT_EQ(world_.problems(), ""); }
  std::int64_t lose(const std::string& node) {
    return must(world_.write([&](Operation& op) { return lose_node(op, node, 100); }));
  }
  std::vector<Collectible> collectible(std::int64_t grace_ms = 0) {
    return must(world_.read(
        [&](db::Session& s) { return list_collectible(s, world_.lease_ms, grace_ms, 100); }));
  }
  void acknowledge(const std::vector<ObjectId>& holds = {}) {
    const std::int64_t last = world_.number("SELECT change FROM namespace");
    must(world_.write([&](Operation& op) {
      return renew_session(op, ref_, {.ttl_ms = 1'000'000, .position = last, .holds = holds});
    }));
  }

  World world_;
  NodeRef ref_;
  std::int64_t file_ = 0;
};

TEST_F(CommitTest, ACommitIsVisibleAndCounted) {
  const ObjectId object = world_.put(ref_, "/d/f", 100);
  const OpenFile open = world_.open("/d/f");
  EXPECT_EQ(open.attributes.size, 100);
  EXPECT_EQ(open.attributes.generation, 1);
  EXPECT_EQ(open.extents, (std::vector<Extent>{{0, 100, object, 0}}));
  ASSERT_EQ(open.objects.size(), 1U);
  EXPECT_EQ(open.objects[0].object.state, ObjectState::kStaged);
  EXPECT_EQ(open.objects[0].holders, std::vector<std::string>{"n1"});
  EXPECT_EQ(world_.usage("/d").bytes, 100);
  EXPECT_EQ(world_.usage("/").files, 2);
}

TEST_F(CommitTest, TheSameCommitTwiceIsOne) {
  const ObjectId object = world_.reserve(ref_, file_);
  const Commit commit = World::whole(file_, 0, object, 5, {"n1"});
  EXPECT_EQ(must(world_.commit(ref_, commit)).generation, 1);
  world_.store(ref_, object);
  EXPECT_EQ(must(world_.commit(ref_, commit)).generation, 1);
  EXPECT_EQ(world_.stat("/d/f").generation, 1);
}

TEST_F(CommitTest, AnEndedSessionCommitsNothing) {
  const ObjectId object = world_.reserve(ref_, file_);
  const Commit commit = World::whole(file_, 0, object, 5, {"n1"});
  const NodeRef next = world_.begin("n1");
  EXPECT_EQ(next.epoch, ref_.epoch + 1);
  // What the old session reserved is forgotten, so nobody can commit it.
  EXPECT_EQ(code_of(world_.commit(ref_, commit)), ErrorCode::kNotFound);
  const Commit again = World::whole(file_, 0, world_.reserve(next, file_), 5, {"n1"});
  EXPECT_EQ(code_of(world_.commit(ref_, again)), ErrorCode::kLeaseLost);
  world_.lease_ms += 2'000'000;
  EXPECT_EQ(code_of(world_.commit(next, again)), ErrorCode::kLeaseLost);
  EXPECT_EQ(world_.stat("/d/f").generation, 0);
}

TEST_F(CommitTest, TheLastCloseWinsAndTheOtherIsKeptADay) {
  const ObjectId mine = world_.reserve(ref_, file_);
  const ObjectId theirs = world_.put(ref_, "/d/f", 7);
  world_.store(ref_, theirs);
  Commit commit = World::whole(file_, 0, mine, 5, {"n1"});
  commit.only_if_unchanged = true;
  EXPECT_EQ(code_of(world_.commit(ref_, commit)), ErrorCode::kPreconditionFailed);
  commit.only_if_unchanged = false;
  const Committed done = must(world_.commit(ref_, commit));
  EXPECT_TRUE(done.overwrote);
  EXPECT_TRUE(must(world_.commit(ref_, commit)).overwrote);
  EXPECT_EQ(done.generation, 2);
  EXPECT_EQ(world_.number("SELECT conflicts FROM namespace"), 1);
  world_.store(ref_, mine);
  EXPECT_EQ(world_.object(theirs).state, ObjectState::kStored);
  world_.lease_ms += kKeepOverwrittenMs;
  EXPECT_EQ(must(world_.write([](Operation& op) { return expire_versions(op, 10); })), 1);
  EXPECT_EQ(world_.object(theirs).state, ObjectState::kRetired);
}

TEST_F(CommitTest, TheOldContentStaysUntilTheNewIsStored) {
  const ObjectId first = world_.put(ref_, "/d/f", 3);
  world_.store(ref_, first);
  const ObjectId second = world_.put(ref_, "/d/f", 4);
  const ObjectId third = world_.put(ref_, "/d/f", 5);
  EXPECT_EQ(world_.object(first).state, ObjectState::kStored);
  world_.store(ref_, second);
  EXPECT_EQ(world_.object(first).state, ObjectState::kRetired);
  EXPECT_EQ(world_.object(second).state, ObjectState::kStored);
  world_.store(ref_, third);
  EXPECT_EQ(world_.object(second).state, ObjectState::kRetired);
}

TEST_F(CommitTest, ALostObjectRollsTheFileBack) {
  const ObjectId first = world_.put(ref_, "/d/f", 3);
  world_.store(ref_, first);
  world_.put(ref_, "/d/f", 9);
  EXPECT_EQ(world_.usage("/d").bytes, 9);
  EXPECT_EQ(lose("n1"), 1);
  const OpenFile open = world_.open("/d/f");
  EXPECT_EQ(open.attributes.generation, 3);
  EXPECT_EQ(open.extents, (std::vector<Extent>{{0, 3, first, 0}}));
  EXPECT_EQ(world_.usage("/d").bytes, 3);
  const auto losses = must(world_.read([](db::Session& s) { return list_losses(s, 0, 10); }));
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].inode, file_);
  EXPECT_EQ(losses[0].generation, 2);
  EXPECT_EQ(losses[0].restored, 1);
  EXPECT_EQ(losses[0].bytes, 9);
}

TEST_F(CommitTest, ACopyElsewhereSavesIt) {
  const ObjectId object = world_.put(ref_, "/d/f", 9);
  const NodeRef other = world_.begin("n2");
  must(world_.write([&](Operation& op) { return add_holder(op, other, object); }));
  lose("n1");
  EXPECT_EQ(world_.stat("/d/f").size, 9);
  lose("n2");
  EXPECT_EQ(world_.stat("/d/f").size, 0);
}

TEST_F(CommitTest, ExtentsAreChecked) {
  const ObjectId first = world_.put(ref_, "/d/f", 10);
  const std::int64_t other_file = world_.touch("/d/g");
  const ObjectId foreign = world_.put(ref_, "/d/g", 10);
  EXPECT_NE(other_file, file_);
  const ObjectId object = world_.reserve(ref_, file_);
  const auto attempt = [&](std::vector<Extent> extents) {
    Commit commit = World::whole(file_, 1, object, 5, {"n1"});
    commit.size = 15;
    commit.extents = std::move(extents);
    return world_.commit(ref_, commit);
  };
  const auto refused = ErrorCode::kInvalidArgument;
  EXPECT_EQ(code_of(attempt({{0, 6, object, 0}})), refused);
  EXPECT_EQ(code_of(attempt({{0, 5, object, 1}})), refused);
  EXPECT_EQ(code_of(attempt({{0, 5, object, -1}})), refused);
  EXPECT_EQ(code_of(attempt({{11, 5, object, 0}})), refused);
  EXPECT_EQ(code_of(attempt({{0, 5, object, 0}, {4, 2, object, 0}})), refused);
  EXPECT_EQ(code_of(attempt({{0, 0, object, 0}})), refused);
  EXPECT_EQ(code_of(attempt({{0, 5, foreign, 0}, {5, 5, object, 0}})), refused);
  EXPECT_EQ(code_of(attempt({{0, 5, first, 0}})), refused);
  const std::vector<Extent> appended{{0, 10, first, 0}, {10, 5, object, 0}};
  must(attempt(appended));
  EXPECT_EQ(world_.open("/d/f").extents, appended);
}

TEST_F(CommitTest, TruncationCutsAndGrowthLeavesAHole) {
  const ObjectId object = world_.put(ref_, "/d/f", 10);
  world_.store(ref_, object);
  must(world_.truncate("/d/f", 4));
  must(world_.truncate("/d/f", 8));
  const OpenFile open = world_.open("/d/f");
  EXPECT_EQ(open.attributes.size, 8);
  EXPECT_EQ(open.attributes.generation, 3);
  EXPECT_EQ(open.extents, (std::vector<Extent>{{0, 4, object, 0}}));
  must(world_.truncate("/d/f", 0));
  EXPECT_EQ(world_.object(object).state, ObjectState::kRetired);
}

TEST_F(CommitTest, KeysAreThePathWhereItIsFree) {
  const ObjectId first = world_.put(ref_, "/d/f", 1);
  EXPECT_EQ(world_.store(ref_, first), "d/f");
  const ObjectId second = world_.put(ref_, "/d/f", 1);
  EXPECT_EQ(world_.store(ref_, second), own_key(second));
  // A file where a key's directory was, and one below a key.
  must(world_.rename("/d", "/e"));
  world_.touch("/d");
  const ObjectId above = world_.put(ref_, "/d", 1);
  EXPECT_EQ(world_.store(ref_, above), own_key(above));
  must(world_.unlink("/e/f"));
  world_.mkdir("/d2");
  must(world_.unlink("/d"));
  must(world_.rename("/d2", "/d"));
  world_.mkdir("/d/f");
  world_.touch("/d/f/x");
  const ObjectId below = world_.put(ref_, "/d/f/x", 1);
  EXPECT_EQ(world_.store(ref_, below), own_key(below));
  EXPECT_EQ(must(parse_object_id(to_string(below))), below);
  EXPECT_FALSE(parse_object_id("1-2").has_value());
}

TEST_F(CommitTest, ANameThatIsNoKeyGetsItsOwn) {
  const Place place{kRootInode, "\xff"};
  const std::int64_t inode = must(world_.write([&](Operation& op) {
                               return create_file(op, place, {}, true);
                             })).attributes.inode;
  const ObjectId object = world_.reserve(ref_, inode);
  must(world_.commit(ref_, World::whole(inode, 0, object, 1, {"n1"})));
  EXPECT_EQ(world_.store(ref_, object), own_key(object));
}

TEST_F(CommitTest, RetiredObjectsGoWhenNobodyNeedsThem) {
  const ObjectId object = world_.put(ref_, "/d/f", 1);
  world_.store(ref_, object);
  must(world_.truncate("/d/f", 0));
  EXPECT_TRUE(collectible().empty());
  acknowledge({object});
  EXPECT_TRUE(collectible().empty());
  acknowledge();
  EXPECT_TRUE(collectible(1).empty());
  ASSERT_EQ(collectible().size(), 1U);
  EXPECT_EQ(collectible()[0].key, "d/f");
  must(world_.write([&](Operation& op) { return finish_deletion(op, object); }));
  must(world_.write([&](Operation& op) { return finish_deletion(op, object); }));
  EXPECT_TRUE(collectible().empty());
  // The key is taken for ever.
  const ObjectId next = world_.put(ref_, "/d/f", 1);
  EXPECT_EQ(world_.store(ref_, next), own_key(next));
  EXPECT_EQ(code_of(world_.write([&](Operation& op) { return finish_deletion(op, next); })),
            ErrorCode::kConflict);
}

TEST_F(CommitTest, AnOrphanIsReadableUntilItIsCollected) {
  const ObjectId object = world_.put(ref_, "/d/f", 1);
  world_.store(ref_, object);
  must(world_.unlink("/d/f"));
  const auto collect = [&] {
    return must(world_.write([](Operation& op) { return collect_orphans(op, 0, 10); }));
  };
  EXPECT_EQ(collect(), 0);
  acknowledge({object});
  EXPECT_EQ(collect(), 0);
  EXPECT_EQ(must(world_.read([&](db::Session& s) { return open_file(s, file_); })).extents.size(),
            1U);
  acknowledge();
  EXPECT_EQ(collect(), 1);
  ASSERT_EQ(collectible().size(), 1U);
  EXPECT_EQ(code_of(world_.read([&](db::Session& s) { return getattr(s, file_); })),
            ErrorCode::kNotFound);
}

TEST_F(CommitTest, AQuotaIsExact) {
  const std::int64_t directory = world_.at("/d");
  must(world_.write([&](Operation& op) {
    return set_quota(op, {.directory = directory, .max_bytes = 100, .max_files = 3});
  }));
  world_.put(ref_, "/d/f", 100);
  world_.mkdir("/d/sub");
  const std::int64_t file = world_.touch("/d/sub/g");
  const Commit over = World::whole(file, 0, world_.reserve(ref_, file), 1, {"n1"});
  EXPECT_EQ(code_of(world_.commit(ref_, over)), ErrorCode::kQuotaExceeded);
  EXPECT_EQ(code_of(world_.truncate("/d/sub/g", 1)), ErrorCode::kQuotaExceeded);
  const Place place{directory, "fourth"};
  EXPECT_EQ(code_of(world_.write([&](Operation& op) { return create_file(op, place, {}, true); })),
            ErrorCode::kQuotaExceeded);
  world_.touch("/outside");
  EXPECT_EQ(code_of(world_.rename("/outside", "/d/in")), ErrorCode::kQuotaExceeded);
  must(world_.rename("/outside", "/d/sub/g"));
  must(world_.truncate("/d/f", 99));
  must(world_.truncate("/d/sub/g", 1));
}

TEST_F(CommitTest, NothingChangesBelowASealedDirectory) {
  world_.mkdir("/d/sub");
  const std::int64_t directory = world_.at("/d");
  const Commit late = World::whole(file_, 0, world_.reserve(ref_, file_), 1, {"n1"});
  must(world_.write([&](Operation& op) { return set_sealed(op, directory, true); }));
  EXPECT_EQ(code_of(world_.commit(ref_, late)), ErrorCode::kReadOnly);
  EXPECT_EQ(code_of(world_.truncate("/d/f", 1)), ErrorCode::kReadOnly);
  EXPECT_EQ(code_of(world_.unlink("/d/f")), ErrorCode::kReadOnly);
  EXPECT_EQ(code_of(world_.rmdir("/d/sub")), ErrorCode::kReadOnly);
  EXPECT_EQ(code_of(world_.link("/d/f", "/l")), ErrorCode::kReadOnly);
  EXPECT_EQ(code_of(world_.rename("/d/f", "/f")), ErrorCode::kReadOnly);
  EXPECT_TRUE(world_.open("/d/f").policies.sealed);
  must(world_.write([&](Operation& op) { return set_sealed(op, directory, false); }));
  must(world_.unlink("/d/f"));
}

TEST_F(CommitTest, DurabilityIsTheNearestDirectorys) {
  world_.mkdir("/d/sub");
  world_.touch("/d/sub/g");
  const auto set = [&](const std::string& path, std::optional<Durability> durability) {
    const std::int64_t directory = world_.at(path);
    must(world_.write([&](Operation& op) { return set_durability(op, directory, durability); }));
  };
  EXPECT_EQ(world_.open("/d/sub/g").policies.durability, Durability::kLocal);
  set("/d", Durability::kStored);
  EXPECT_EQ(world_.open("/d/sub/g").policies.durability, Durability::kStored);
  set("/d/sub", Durability::kReplicated);
  EXPECT_EQ(world_.open("/d/sub/g").policies.durability, Durability::kReplicated);
  set("/d/sub", std::nullopt);
  EXPECT_EQ(world_.open("/d/sub/g").policies.durability, Durability::kStored);
}

}  // namespace
}  // namespace loam::meta
