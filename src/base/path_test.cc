// SPDX-License-Identifier: Apache-2.0
#include "base/path.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace loam {
namespace {

TEST(PathTest, RelativePathsStayBelowTheirRoot) {
  const PathRules rules;
  for (const char* good : {"a", "a/b", "..a/b..", ".hidden/x", "...", "a b\n", "\xff"}) {
    EXPECT_EQ(path_fault(good, rules), PathFault::kNone) << good;
  }
  const std::vector<std::pair<std::string, PathFault>> bad{
      {"", PathFault::kEmpty},
      {"/", PathFault::kAbsolute},
      {"/a", PathFault::kAbsolute},
      {"a/", PathFault::kEmptySegment},
      {"a//b", PathFault::kEmptySegment},
      {".", PathFault::kDotSegment},
      {"..", PathFault::kDotSegment},
      {"a/..", PathFault::kDotSegment},
      {"a/./b", PathFault::kDotSegment},
      {std::string("a\0b", 3), PathFault::kNul},
      {std::string(4097, 'a'), PathFault::kTooLong}};
  for (const auto& [path, fault] : bad)
    EXPECT_EQ(path_fault(path, rules), fault) << path;
}

TEST(PathTest, AbsolutePathsAndDirectories) {
  const PathRules store{.absolute = true, .directory_slash = true};
  EXPECT_EQ(path_fault("/a/b", store), PathFault::kNone);
  EXPECT_EQ(path_fault("/a/", store), PathFault::kNone);
  EXPECT_EQ(path_fault("/a//", store), PathFault::kEmptySegment);
  EXPECT_EQ(path_fault("//a", store), PathFault::kEmptySegment);
  EXPECT_EQ(path_fault("/", store), PathFault::kEmptySegment);
  EXPECT_EQ(path_fault("//", store), PathFault::kEmptySegment);
  EXPECT_EQ(path_fault("a", store), PathFault::kAbsolute);
  EXPECT_EQ(path_fault("/a/../", store), PathFault::kDotSegment);
  EXPECT_EQ(path_fault("a/", {.directory_slash = true}), PathFault::kNone);
  EXPECT_EQ(path_fault("/", {.directory_slash = true}), PathFault::kAbsolute);
}

TEST(PathTest, LengthsAreBounded) {
  const PathRules rules{.max_bytes = 8, .max_segment_bytes = 3};
  EXPECT_EQ(path_fault("abc/def", rules), PathFault::kNone);
  EXPECT_EQ(path_fault("abcd/ef", rules), PathFault::kSegmentTooLong);
  EXPECT_EQ(path_fault("abc/def/g", rules), PathFault::kTooLong);
}

// A path without a fault names the same place however often it is put below a root.
RC_GTEST_PROP(PathProperty, GoodPathsAreTheirOwnSegmentsJoined, ()) {
  const auto path =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab./") + '\0'));
  if (path_fault(path, {}) != PathFault::kNone) return;
  RC_ASSERT(!path.empty() && path.front() != '/' && path.back() != '/');
  RC_ASSERT(("/" + path + "/").find("//") == std::string::npos);
  RC_ASSERT(("/" + path + "/").find("/./") == std::string::npos);
  RC_ASSERT(("/" + path + "/").find("/../") == std::string::npos);
}

}  // namespace
}  // namespace loam
