// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "meta/collect.h"
#include "meta/meta_testing.h"
#include "meta/object_key.h"

namespace loam::meta {
namespace {

using testing::code_of;
using testing::must;
using testing::World;

// Content that goes to the store before it is committed.
class DirectUploadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    world_.mkdir("/d");
    ref_ = world_.begin("s1");
  }
  void TearDown() override { EXPECT_EQ(world_.problems(), ""); }
  ObjectId reserve() {
    return must(world_.write([&](Operation& op) { return reserve_unbound(op, ref_); }));
  }
  Result<std::string> start(const ObjectId& object, const std::string& path) {
    return world_.write([&](Operation& op) { return start_direct_upload(op, ref_, object, path); });
  }
  // Makes the file with the commit, in one transaction.
  Result<Committed> put(const Place& place, const Commit& commit) {
    return world_.write([&](Operation& op) -> Result<Committed> {
      Commit whole = commit;
      const Created file = TRY(create_file(op, place, {}, false));
      whole.inode = file.attributes.inode;
      whole.base_generation = file.attributes.generation;
      TRY_VOID(bind_object(op, ref_, whole.object, whole.inode));
      return commit_content(op, ref_, whole);
    });
  }
  void abandon(const ObjectId& object) {
    must(world_.write([&](Operation& op) { return abandon_object(op, ref_, object); }));
  }
  std::vector<Collectible> collectible() {
    const std::int64_t last = world_.number("SELECT change FROM namespace");
    must(world_.write([&](Operation& op) {
      return renew_session(op, ref_, {.ttl_ms = 1'000'000, .position = last});
    }));
    return must(
        world_.read([&](db::Session& s) { return list_collectible(s, world_.lease_ms, 0, 100); }));
  }

  World world_;
  NodeRef ref_;
};

TEST_F(DirectUploadTest, AFileComesWithItsStoredContent) {
  const ObjectId object = reserve();
  EXPECT_EQ(must(start(object, "/d/f")), "d/f");
  EXPECT_EQ(must(start(object, "/d/other")), "d/f");
  EXPECT_FALSE(world_.exists("/d/f"));
  const Commit commit = World::whole_stored(0, 0, object, 7);
  EXPECT_EQ(must(put(world_.place("/d/f"), commit)).generation, 1);
  EXPECT_EQ(must(put(world_.place("/d/f"), commit)).generation, 1);
  const OpenFile open = world_.open("/d/f");
  EXPECT_EQ(open.attributes.size, 7);
  ASSERT_EQ(open.objects.size(), 1U);
  EXPECT_EQ(open.objects[0].object.state, ObjectState::kStored);
  EXPECT_EQ(open.objects[0].object.etag, "etag");
  EXPECT_TRUE(open.objects[0].holders.empty());
}

TEST_F(DirectUploadTest, TheContentBeforeIsRetiredAtOnce) {
  const ObjectId first = reserve();
  must(start(first, "/d/f"));
  must(put(world_.place("/d/f"), World::whole_stored(0, 0, first, 7)));
  const ObjectId second = reserve();
  EXPECT_EQ(must(start(second, "/d/f")), own_key(second));
  must(put(world_.place("/d/f"), World::whole_stored(0, 0, second, 8)));
  EXPECT_EQ(world_.object(first).state, ObjectState::kRetired);
}

TEST_F(DirectUploadTest, AKeyOfWhatWasGivenUpIsNotUsedAgainAndIsEmptied) {
  const ObjectId object = reserve();
  must(start(object, "/d/f"));
  abandon(object);
  abandon(object);
  const ObjectId next = reserve();
  EXPECT_EQ(must(start(next, "/d/f")), own_key(next));
  const auto gone = collectible();
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].key, "d/f");
  EXPECT_EQ(code_of(put(world_.place("/d/f"), World::whole_stored(0, 0, object, 1))),
            ErrorCode::kConflict);
  EXPECT_FALSE(world_.exists("/d/f"));
}

TEST_F(DirectUploadTest, WithoutAKeyNothingIsLeftOfWhatWasGivenUp) {
  const ObjectId object = reserve();
  abandon(object);
  EXPECT_EQ(world_.number("SELECT count(*) FROM object"), 0);
  EXPECT_TRUE(collectible().empty());
}

TEST_F(DirectUploadTest, ASessionsEndGivesUpWhatItWasUploading) {
  const ObjectId object = reserve();
  must(start(object, "/d/f"));
  const ObjectId unused = reserve();
  ref_ = world_.begin("s1");
  EXPECT_EQ(world_.object(object).state, ObjectState::kRetired);
  EXPECT_EQ(code_of(world_.read([&](db::Session& s) { return get_object(s, unused); })),
            ErrorCode::kNotFound);
  ASSERT_EQ(collectible().size(), 1U);
  EXPECT_EQ(collectible()[0].key, "d/f");
}

TEST_F(DirectUploadTest, ATakenKeyIsAvoided) {
  const ObjectId object = reserve();
  must(start(object, "/d/f"));
  EXPECT_EQ(must(world_.write([&](Operation& op) { return avoid_plain_key(op, ref_, object); })),
            own_key(object));
  must(put(world_.place("/d/f"), World::whole_stored(0, 0, object, 1)));
  EXPECT_EQ(world_.object(object).key, own_key(object));
}

TEST_F(DirectUploadTest, WhatIsCommittedAsStoredHasAKeyAndNoHolders) {
  const ObjectId object = reserve();
  const auto refused = ErrorCode::kInvalidArgument;
  EXPECT_EQ(code_of(put(world_.place("/d/f"), World::whole_stored(0, 0, object, 1))), refused);
  must(start(object, "/d/f"));
  Commit both = World::whole_stored(0, 0, object, 1);
  both.holders = {"s1"};
  EXPECT_EQ(code_of(put(world_.place("/d/f"), both)), refused);
  EXPECT_FALSE(world_.exists("/d/f"));
  // Nothing needs to be stored of an empty file.
  must(put(world_.place("/d/empty"), World::whole_stored(0, 0, reserve(), 0)));
  EXPECT_EQ(world_.stat("/d/empty").generation, 1);
}

TEST_F(DirectUploadTest, AnotherSessionsObjectIsNotToBeHad) {
  const ObjectId object = reserve();
  const NodeRef mine = ref_;
  ref_ = world_.begin("s2");
  EXPECT_EQ(code_of(start(object, "/d/f")), ErrorCode::kConflict);
  abandon(object);
  EXPECT_EQ(code_of(put(world_.place("/d/f"), World::whole_stored(0, 0, object, 0))),
            ErrorCode::kConflict);
  ref_ = mine;
  must(start(object, "/d/f"));
  const std::int64_t file = world_.touch("/d/g");
  must(world_.write([&](Operation& op) { return bind_object(op, ref_, object, file); }));
  const std::int64_t other = world_.touch("/d/h");
  EXPECT_EQ(
      code_of(world_.write([&](Operation& op) { return bind_object(op, ref_, object, other); })),
      ErrorCode::kConflict);
}

}  // namespace
}  // namespace loam::meta
