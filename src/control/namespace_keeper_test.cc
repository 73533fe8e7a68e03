// SPDX-License-Identifier: Apache-2.0
#include "control/namespace_keeper.h"

#include <gtest/gtest.h>

#include <functional>

#include "control/namespace_testing.h"
#include "meta/summary.h"
#include "meta/unlink.h"
#include "meta/usage.h"

namespace loam::control {
namespace {

using testing::must;
using testing::NamespaceWorld;

class NamespaceKeeperTest : public ::testing::Test {
 protected:
  NamespaceKeeperTest() : duties_(world_.services, "server") {}
  void TearDown() override { EXPECT_EQ(world_.problems(), ""); }
  void pass(std::int64_t ms) {
    world_.jobs_world.exec("UPDATE lease_clock SET ms = ms + ?", ms);
    world_.jobs_world.clock.advance(std::chrono::milliseconds(ms));
  }
  void unlink(const std::string& path) {
    const meta::Place place = must(world_.find(path)).place;
    must(world_.write([&](meta::Operation& op) { return meta::unlink_entry(op, place); }));
  }
  static bool wait_for(const std::function<bool()>& probe) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!probe()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  NamespaceWorld world_;
  Duties duties_;
};

TEST_F(NamespaceKeeperTest, UsageIsHandedUp) {
  PutContent deep = NamespaceWorld::at("/a/b/c/f");
  deep.parents = true;
  must(world_.put(deep, "12345"));
  NamespaceKeeper keeper(world_.services, duties_, {});
  EXPECT_TRUE(wait_for([&] { return !must(world_.services.read(meta::has_unfolded)); }));
  const meta::Usage all = must(
      world_.services.read([](db::Session& s) { return meta::disk_usage(s, meta::kRootInode); }));
  EXPECT_EQ(all.bytes, 5);
  EXPECT_EQ(all.files, 4);
}

TEST_F(NamespaceKeeperTest, WhatIsReplacedOrRemovedLeavesTheStoreAfterTheGrace) {
  must(world_.put("/kept", "k"));
  must(world_.put("/replaced", "old"));
  must(world_.put("/replaced", "new"));
  must(world_.put("/removed", "r"));
  must(object::put_bytes(world_.memory, "not-ours", "n"));
  unlink("/removed");
  // The session that wrote all this has to have taken note, or to be over.
  world_.session.stop();
  NamespaceKeeper keeper(world_.services, duties_, {.grace = std::chrono::milliseconds(1'000)});
  std::this_thread::sleep_for(std::chrono::milliseconds(1'500));
  EXPECT_NE(world_.keys().find("removed\n"), std::string::npos);
  pass(10'000);
  EXPECT_TRUE(wait_for([&] { return world_.keys().find("removed\n") == std::string::npos; }));
  EXPECT_TRUE(wait_for([&] { return world_.keys().find("replaced\n") == std::string::npos; }));
  EXPECT_NE(world_.keys().find("kept\n"), std::string::npos);
  EXPECT_NE(world_.keys().find("not-ours\n"), std::string::npos);
  EXPECT_EQ(must(world_.get("/kept")), "k");
  EXPECT_EQ(must(world_.get("/replaced")), "new");
}

TEST_F(NamespaceKeeperTest, WhatTheStoreDoesNotDeleteIsTriedAgain) {
  must(world_.put("/f", "x"));
  unlink("/f");
  world_.session.stop();
  pass(10'000);
  world_.store.set_faults({.error_before = 1});
  NamespaceKeeper keeper(world_.services, duties_, {.grace = std::chrono::milliseconds(1)});
  EXPECT_TRUE(wait_for([&] { return world_.store.calls(object::StoreOperation::kRemove) > 0; }));
  EXPECT_EQ(world_.keys(), "f\n");
  world_.store.set_faults({});
  EXPECT_TRUE(wait_for([&] {
    pass(1'000);
    return world_.keys().empty();
  }));
}

}  // namespace
}  // namespace loam::control
