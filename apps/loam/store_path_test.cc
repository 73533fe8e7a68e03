// SPDX-License-Identifier: Apache-2.0
#include "loam/store_path.h"

#include <gmock/gmock.h>

#include "loam/grant.h"

namespace loam::cli {
namespace {

TEST(CopyEndTest, BothSides) {
  const auto store = parse_copy_end("store:/datasets/emoji/");
  ASSERT_TRUE(store);
  EXPECT_TRUE(store->in_store);
  EXPECT_EQ(store->path, "/datasets/emoji");
  EXPECT_TRUE(store->slash);
  const auto local = parse_copy_end("out//");
  ASSERT_TRUE(local);
  EXPECT_FALSE(local->in_store);
  EXPECT_EQ(local->path, "out");
  EXPECT_TRUE(local->slash);
  EXPECT_FALSE(parse_copy_end("a/b")->slash);
  for (const char* contents : {".", "..", "a/.", "a/.."}) {
    EXPECT_TRUE(parse_copy_end(contents)->slash) << contents;
  }
  EXPECT_EQ(parse_copy_end("/")->path, "/");
  EXPECT_EQ(parse_copy_end("store:/")->path, "/");
}

TEST(CopyEndTest, WhatIsNoPathIsRefused) {
  for (const char* bad : {"store:", "store:a", "store:/a/../b", "store:/a//b", "store:/./a", ""}) {
    EXPECT_FALSE(parse_copy_end(bad)) << bad;
  }
  EXPECT_TRUE(parse_store_path("/a/b"));  // where only the store can be meant
  EXPECT_FALSE(parse_store_path("a/b"));
}

TEST(CopyDestinationTest, FollowsCp) {
  const auto to = [](const char* from, bool from_directory, const char* target,
                     bool target_is_directory) {
    return copy_destination(*parse_copy_end(from), from_directory, *parse_copy_end(target),
                            target_is_directory);
  };
  // A file.
  EXPECT_EQ(to("x/a", false, "store:/d/b", false), "/d/b");
  EXPECT_EQ(to("x/a", false, "store:/d", true), "/d/a");
  EXPECT_EQ(to("x/a", false, "store:/d/", false), "/d/a");
  EXPECT_EQ(to("store:/d/a", false, ".", true), "./a");
  EXPECT_EQ(to("store:/d/a", false, "/", true), "/a");
  // A directory.
  EXPECT_EQ(to("emoji", true, "store:/datasets/e", false), "/datasets/e");
  EXPECT_EQ(to("emoji", true, "store:/datasets", true), "/datasets/emoji");
  EXPECT_EQ(to("emoji", true, "store:/datasets/", false), "/datasets/emoji");
  // The contents of a directory.
  EXPECT_EQ(to("emoji/", true, "store:/datasets/e", true), "/datasets/e");
  EXPECT_EQ(to("emoji/", true, "store:/datasets/e", false), "/datasets/e");
  EXPECT_EQ(to(".", true, "store:/datasets/e/", true), "/datasets/e");
}

TEST(PathTest, Parts) {
  EXPECT_EQ(base_name("/a/b"), "b");
  EXPECT_EQ(base_name("b"), "b");
  EXPECT_EQ(base_name("/"), "");
  EXPECT_EQ(join_path("/", "a"), "/a");
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(store_text("/a"), "store:/a");
}

TEST(GrantTest, PrefixAndRight) {
  EXPECT_EQ(*parse_grant("/users/ann:rw"), Json({{"prefix", "/users/ann"}, {"write", true}}));
  EXPECT_EQ(*parse_grant("/datasets"), Json({{"prefix", "/datasets"}, {"write", false}}));
  EXPECT_EQ(*parse_grant("store:/datasets/:r"), Json({{"prefix", "/datasets"}, {"write", false}}));
  EXPECT_FALSE(parse_grant("/users/ann:w"));
  EXPECT_FALSE(parse_grant("users/ann:rw"));
  EXPECT_EQ(grants_text({{{"prefix", "/a"}, {"write", true}}, {{"prefix", "/b"}}}), "/a:rw, /b");
}

}  // namespace
}  // namespace loam::cli
