// SPDX-License-Identifier: Apache-2.0
#include "loam/ignore_rules.h"

#include <gmock/gmock.h>

namespace loam::cli {
namespace {

using ::testing::HasSubstr;

IgnoreRules rules(std::string_view text) {
  auto parsed = IgnoreRules::parse(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? *parsed : IgnoreRules();
}

TEST(IgnoreRulesTest, ANameMatchesAtAnyDepth) {
  const IgnoreRules ignore = rules("# comment\n\n*.pyc\nREADME.md  \r\n");
  EXPECT_TRUE(ignore.ignores("a.pyc", false));
  EXPECT_TRUE(ignore.ignores("x/y/a.pyc", false));
  EXPECT_TRUE(ignore.ignores("README.md", false));
  EXPECT_TRUE(ignore.ignores("x/README.md", true));
  EXPECT_FALSE(ignore.ignores("a.py", false));
  EXPECT_FALSE(ignore.ignores("x.pyc/a", false));  // its directory is not descended into
}

TEST(IgnoreRulesTest, ASlashAtTheEndMeansDirectories) {
  const IgnoreRules ignore = rules("data/\n");
  EXPECT_TRUE(ignore.ignores("data", true));
  EXPECT_TRUE(ignore.ignores("x/data", true));
  EXPECT_FALSE(ignore.ignores("data", false));
}

TEST(IgnoreRulesTest, ASlashElsewhereAnchors) {
  const IgnoreRules ignore = rules("/notes.txt\ndocs/*.md\n/build/\n");
  EXPECT_TRUE(ignore.ignores("notes.txt", false));
  EXPECT_FALSE(ignore.ignores("x/notes.txt", false));
  EXPECT_TRUE(ignore.ignores("docs/a.md", false));
  EXPECT_FALSE(ignore.ignores("docs/x/a.md", false));
  EXPECT_FALSE(ignore.ignores("x/docs/a.md", false));
  EXPECT_TRUE(ignore.ignores("build", true));
}

TEST(IgnoreRulesTest, TwoStarsCrossDirectories) {
  const IgnoreRules ignore = rules("logs/**/raw\n**/cache/x\nout/**\n");
  EXPECT_TRUE(ignore.ignores("logs/raw", false));
  EXPECT_TRUE(ignore.ignores("logs/a/b/raw", false));
  EXPECT_FALSE(ignore.ignores("a/logs/raw", false));
  EXPECT_TRUE(ignore.ignores("cache/x", false));
  EXPECT_TRUE(ignore.ignores("a/b/cache/x", false));
  EXPECT_FALSE(ignore.ignores("out", true));
  EXPECT_TRUE(ignore.ignores("out/a", false));
  EXPECT_TRUE(ignore.ignores("out/a/b", false));
  EXPECT_TRUE(rules("**/**/**/x\n").ignores("a/b/x", false));
}

TEST(IgnoreRulesTest, ClassesAndHiddenNames) {
  const IgnoreRules ignore = rules("[ab].txt\n.*\n?.bin\n");
  EXPECT_TRUE(ignore.ignores("a.txt", false));
  EXPECT_FALSE(ignore.ignores("c.txt", false));
  EXPECT_TRUE(ignore.ignores(".git", true));
  EXPECT_TRUE(ignore.ignores("x/.venv", true));
  EXPECT_FALSE(ignore.ignores("xy.bin", false));
}

TEST(IgnoreRulesTest, WhatIsNotSupportedIsRefusedByLine) {
  const auto negated = IgnoreRules::parse("*.pyc\n\n!keep.pyc\n");
  ASSERT_FALSE(negated);
  EXPECT_EQ(negated.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(negated.error().message, HasSubstr("line 3"));
  EXPECT_THAT(negated.error().message, HasSubstr("!keep.pyc"));
  for (const char* bad : {"/", "a//b", "../x", "./x", "**/a/**/b/**/c/**/d/**"}) {
    EXPECT_FALSE(IgnoreRules::parse(bad)) << bad;
  }
  std::string many;
  for (int i = 0; i < 1'001; ++i)
    many += "x\n";
  EXPECT_EQ(IgnoreRules::parse(many).error().code, ErrorCode::kTooLarge);
}

TEST(IgnoreRulesTest, NoRulesIgnoreNothing) {
  EXPECT_FALSE(IgnoreRules().ignores("a", false));
  EXPECT_FALSE(rules("").ignores("a", true));
}

}  // namespace
}  // namespace loam::cli
