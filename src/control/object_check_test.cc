// SPDX-License-Identifier: Apache-2.0
#include "control/object_check.h"

#include <gtest/gtest.h>

#include "control/namespace_testing.h"

namespace loam::control {
namespace {

using testing::code_of;
using testing::must;
using testing::NamespaceWorld;

TEST(ObjectCheckTest, O2_WhatTheStoreHasLostIsNamedByItsPath) {
  NamespaceWorld world;
  for (const char* path : {"/a", "/b", "/c", "/d"})
    must(world.put(path, "right"));
  EXPECT_TRUE(must(check_objects(world.services, 0, 100)).problems.empty());
  must(world.memory.remove("b"));
  must(object::put_bytes(world.memory, "c", "longer"));
  must(object::put_bytes(world.memory, "d", "wrong"));
  const ObjectCheck found = must(check_objects(world.services, 0, 100));
  EXPECT_EQ(found.checked, 4);
  EXPECT_FALSE(found.next.has_value());
  ASSERT_EQ(found.problems.size(), 3U);
  EXPECT_EQ(found.problems[0].path, "/b");
  EXPECT_EQ(found.problems[1].path, "/c");
  EXPECT_EQ(found.problems[2].path, "/d");
  // In pages.
  const ObjectCheck first = must(check_objects(world.services, 0, 2));
  EXPECT_EQ(first.problems.size(), 1U);
  const ObjectCheck rest = must(check_objects(world.services, first.next.value(), 3));
  EXPECT_EQ(rest.problems.size(), 2U);
  EXPECT_FALSE(rest.next.has_value());
}

TEST(ObjectCheckTest, AStoreThatDoesNotAnswerHasLostNothing) {
  NamespaceWorld world;
  must(world.put("/a", "x"));
  world.store.set_faults({.error_before = 1});
  EXPECT_EQ(code_of(check_objects(world.services, 0, 100)), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace loam::control
