// SPDX-License-Identifier: Apache-2.0
#include "control/fs_path.h"

#include <gtest/gtest.h>

#include "control/namespace_testing.h"

namespace loam::control {
namespace {

using testing::code_of;
using testing::must;
using testing::NamespaceWorld;

class FsPathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    mkdir("/a");
    mkdir("/a/b");
    must(world_.put("/a/b/f", "x"));
  }
  Result<FsPath> resolve(const std::string& path, LastLink last = LastLink::kFollow) {
    return world_.services.read([&](db::Session& s) { return resolve_path(s, path, last); });
  }
  void mkdir(const std::string& path) {
    const meta::Place place = must(resolve(path)).place;
    must(world_.write([&](meta::Operation& op) { return meta::make_directory(op, place, {}); }));
  }
  void link(const std::string& path, const std::string& target) {
    const meta::Place place = must(resolve(path, LastLink::kKeep)).place;
    must(world_.write(
        [&](meta::Operation& op) { return meta::make_symlink(op, place, target, {}); }));
  }

  NamespaceWorld world_;
};

TEST_F(FsPathTest, APathWithoutLinksIsItself) {
  EXPECT_EQ(must(resolve("/a//b/f/")).path, "/a/b/f");
  EXPECT_EQ(must(resolve("/")).path, "/");
  EXPECT_EQ(must(resolve("/")).place.parent, 0);
  const FsPath missing = must(resolve("/a/new"));
  EXPECT_EQ(missing.path, "/a/new");
  EXPECT_FALSE(missing.attributes.has_value());
  EXPECT_EQ(code_of(resolve("/a/new/x")), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(resolve("/a/b/f/x")), ErrorCode::kNotDirectory);
  EXPECT_EQ(code_of(resolve("/a/../b")), ErrorCode::kInvalidArgument);
}

TEST_F(FsPathTest, LinksLeadToWhereTheyPoint) {
  link("/a/here", "b");
  link("/a/b/up", "../../a/./b/");
  link("/whole", "/a/b/f");
  link("/above", "../../..");
  EXPECT_EQ(must(resolve("/a/here/f")).path, "/a/b/f");
  EXPECT_EQ(must(resolve("/a/b/up/up/f")).path, "/a/b/f");
  EXPECT_EQ(must(resolve("/whole")).path, "/a/b/f");
  EXPECT_EQ(must(resolve("/above/a")).path, "/a");
  EXPECT_EQ(must(resolve("/above")).path, "/");
  EXPECT_EQ(must(resolve("/whole", LastLink::kKeep)).path, "/whole");
  EXPECT_EQ(must(resolve("/a/here/", LastLink::kKeep)).path, "/a/here");
  EXPECT_EQ(code_of(resolve("/whole/x")), ErrorCode::kNotDirectory);
}

TEST_F(FsPathTest, ALinkToNothingIsWhereSomethingCanBeMade) {
  link("/a/next", "b/new");
  const FsPath found = must(resolve("/a/next"));
  EXPECT_EQ(found.path, "/a/b/new");
  EXPECT_FALSE(found.attributes.has_value());
  must(world_.put("/a/next", "y"));
  EXPECT_EQ(must(world_.get("/a/b/new")), "y");
}

TEST_F(FsPathTest, ACircleOfLinksEnds) {
  link("/x", "y");
  link("/y", "/x");
  EXPECT_EQ(code_of(resolve("/x")), ErrorCode::kInvalidArgument);
  EXPECT_EQ(must(resolve("/x", LastLink::kKeep)).path, "/x");
}

TEST_F(FsPathTest, DirectoriesAboveAreMadeThroughLinksToo) {
  link("/in", "a/b");
  const FsPath made = must(world_.write([](meta::Operation& op) {
    return resolve_with_parents(op, "/in/c/d/f", LastLink::kFollow, {.mode = 0700});
  }));
  EXPECT_EQ(made.path, "/a/b/c/d/f");
  EXPECT_EQ(must(world_.find("/a/b/c/d")).attributes->mode, 0700);
  EXPECT_EQ(code_of(world_.write([](meta::Operation& op) {
              return resolve_with_parents(op, "/a/b/f/d/f", LastLink::kFollow, {});
            })),
            ErrorCode::kNotDirectory);
}

}  // namespace
}  // namespace loam::control
