// SPDX-License-Identifier: Apache-2.0
#include "meta/lock.h"

#include <gtest/gtest.h>

#include "meta/meta_testing.h"

namespace loam::meta {
namespace {

using testing::code_of;
using testing::must;
using testing::World;

class LockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = world_.touch("/f");
    a_ = world_.begin("a", 10'000);
    b_ = world_.begin("b", 10'000);
  }
  Status take(const NodeRef& ref, const LockRange& range, bool exclusive = true) {
    return world_.write([&](Operation& op) { return take_lock(op, ref, file_, range, exclusive); });
  }
  Status release(const NodeRef& ref, const LockRange& range) {
    return world_.write([&](Operation& op) { return release_lock(op, ref, file_, range); });
  }
  static LockRange bytes(std::int64_t owner, std::int64_t first, std::int64_t last) {
    return {LockKind::kRange, owner, first, last};
  }

  World world_;
  std::int64_t file_ = 0;
  NodeRef a_;
  NodeRef b_;
};

TEST_F(LockTest, AnExclusiveLockKeepsOthersOut) {
  must(take(a_, {.owner = 1}));
  EXPECT_EQ(code_of(take(b_, {.owner = 1})), ErrorCode::kConflict);
  EXPECT_EQ(code_of(take(b_, {.owner = 1}, false)), ErrorCode::kConflict);
  EXPECT_EQ(code_of(take(a_, {.owner = 2})), ErrorCode::kConflict);
  // The other kind does not see it.
  must(take(b_, bytes(1, 0, 10)));
  must(release(a_, {.owner = 1}));
  must(take(b_, {.owner = 1}));
}

TEST_F(LockTest, SharedLocksStandTogetherAndOneCanBecomeExclusive) {
  must(take(a_, {.owner = 1}, false));
  must(take(b_, {.owner = 1}, false));
  EXPECT_EQ(code_of(take(a_, {.owner = 1}, true)), ErrorCode::kConflict);
  must(release(b_, {.owner = 1}));
  must(take(a_, {.owner = 1}, true));
  EXPECT_EQ(code_of(take(b_, {.owner = 1}, false)), ErrorCode::kConflict);
}

TEST_F(LockTest, ADeadNodesLocksAreFreeWhenItsSessionIsOver) {
  must(take(a_, {.owner = 1}));
  world_.lease_ms += 9'999;
  EXPECT_EQ(code_of(take(b_, {.owner = 1})), ErrorCode::kConflict);
  must(world_.write([&](Operation& op) { return renew_session(op, b_, {.ttl_ms = 10'000}); }));
  world_.lease_ms += 1;
  must(take(b_, {.owner = 1}));
  EXPECT_EQ(code_of(take(a_, {.owner = 1})), ErrorCode::kLeaseLost);
  EXPECT_EQ(must(world_.write([](Operation& op) { return end_expired_sessions(op, 10); })), 1);
  EXPECT_EQ(world_.number("SELECT count(*) FROM file_lock"), 1);
}

TEST_F(LockTest, RangesAreCutAndReplaced) {
  must(take(a_, bytes(1, 0, 99)));
  must(release(a_, bytes(1, 40, 59)));
  must(take(b_, bytes(1, 40, 59)));
  EXPECT_EQ(code_of(take(b_, bytes(1, 39, 39))), ErrorCode::kConflict);
  EXPECT_EQ(code_of(take(b_, bytes(1, 60, 60))), ErrorCode::kConflict);
  must(take(a_, bytes(1, 60, INT64_MAX), false));
  must(take(b_, bytes(2, 80, 90), false));
  const auto holder = must(world_.write(
      [&](Operation& op) { return conflicting_lock(op, b_, file_, bytes(2, 0, 70), true); }));
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->node, "a");
  EXPECT_EQ(holder->range.last, 39);
  EXPECT_EQ(code_of(take(a_, bytes(1, 5, 4))), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace loam::meta
