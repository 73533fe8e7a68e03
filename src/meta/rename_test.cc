// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "meta/meta_testing.h"

namespace loam::meta {
namespace {

using testing::code_of;
using testing::must;
using testing::World;

class RenameTest : public ::testing::Test {
 protected:
  void SetUp() override {
    world_.mkdir("/a");
    world_.mkdir("/a/sub");
    world_.mkdir("/b");
    file_ = world_.touch("/a/f");
  }
  void TearDown() override { EXPECT_EQ(world_.problems(), ""); }

  World world_;
  std::int64_t file_ = 0;
};

TEST_F(RenameTest, AFileMovesAndItsOldNameIsFree) {
  must(world_.rename("/a/f", "/b/g"));
  EXPECT_EQ(world_.at("/b/g"), file_);
  EXPECT_FALSE(world_.exists("/a/f"));
  EXPECT_NE(world_.touch("/a/f"), file_);
}

TEST_F(RenameTest, ADirectoryMovesWithAllBelowIt) {
  world_.touch("/a/sub/x");
  must(world_.rename("/a/sub", "/b/sub"));
  EXPECT_TRUE(world_.exists("/b/sub/x"));
  EXPECT_EQ(world_.stat("/a").nlink, 2);
  EXPECT_EQ(world_.stat("/b").nlink, 3);
}

TEST_F(RenameTest, WhatStandsThereIsReplacedByThePosixRules) {
  world_.touch("/b/old");
  must(world_.rename("/a/f", "/b/old"));
  EXPECT_EQ(world_.at("/b/old"), file_);
  EXPECT_EQ(code_of(world_.rename("/b/old", "/a/sub")), ErrorCode::kIsDirectory);
  EXPECT_EQ(code_of(world_.rename("/a/sub", "/b/old")), ErrorCode::kNotDirectory);
  EXPECT_EQ(code_of(world_.rename("/a/sub", "/b")), ErrorCode::kNotEmpty);
  EXPECT_EQ(code_of(world_.rename("/a/none", "/b/x")), ErrorCode::kNotFound);
  must(world_.unlink("/b/old"));
  must(world_.rename("/a/sub", "/b"));
  EXPECT_EQ(world_.names("/"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(world_.stat("/").nlink, 4);
}

TEST_F(RenameTest, ADirectoryDoesNotComeBelowItself) {
  EXPECT_EQ(code_of(world_.rename("/a", "/a/sub/a")), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(world_.rename("/a", "/a/self")), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(world_.rename("/a/sub", "/a")), ErrorCode::kNotEmpty);
  EXPECT_EQ(code_of(world_.rename("/a", "/a/sub", RenameMode::kExchange)),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(world_.rename("/a/sub", "/a", RenameMode::kExchange)),
            ErrorCode::kInvalidArgument);
  must(world_.rename("/a", "/a"));
}

TEST_F(RenameTest, NoReplaceLeavesWhatIsThere) {
  const std::int64_t other = world_.touch("/b/g");
  EXPECT_EQ(code_of(world_.rename("/a/f", "/b/g", RenameMode::kNoReplace)),
            ErrorCode::kAlreadyExists);
  EXPECT_EQ(world_.at("/b/g"), other);
  must(world_.rename("/a/f", "/b/h", RenameMode::kNoReplace));
}

TEST_F(RenameTest, TwoLinksOfOneInodeStay) {
  must(world_.link("/a/f", "/b/l"));
  must(world_.rename("/a/f", "/b/l"));
  EXPECT_TRUE(world_.exists("/a/f"));
  EXPECT_EQ(world_.stat("/b/l").nlink, 2);
}

TEST_F(RenameTest, ExchangeSwapsAFileAndADirectory) {
  const std::int64_t sub = world_.at("/a/sub");
  must(world_.rename("/a/f", "/b/f"));
  must(world_.rename("/a/sub", "/b/f", RenameMode::kExchange));
  EXPECT_EQ(world_.at("/b/f"), sub);
  EXPECT_EQ(world_.at("/a/sub"), file_);
  EXPECT_EQ(world_.stat("/b").nlink, 3);
  EXPECT_EQ(code_of(world_.rename("/b/f", "/b/none", RenameMode::kExchange)), ErrorCode::kNotFound);
}

TEST_F(RenameTest, NothingIsMovedToTheReservedName) {
  EXPECT_EQ(code_of(world_.rename("/a", "/.loam")), ErrorCode::kPermissionDenied);
}

}  // namespace
}  // namespace loam::meta
