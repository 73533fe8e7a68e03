// SPDX-License-Identifier: Apache-2.0
#include "io/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "io/copy.h"
#include "io/temp_directory.h"

namespace loam::io {
namespace {

TEST(Fd, ClosesOnceAndMoves) {
  Fd a(::dup(0));
  const int raw = a.get();
  Fd b(std::move(a));
  EXPECT_FALSE(a);  // NOLINT: the moved-from state is the contract
  EXPECT_EQ(b.get(), raw);
  Fd c;
  c = std::move(b);
  EXPECT_EQ(::fcntl(raw, F_GETFD) & FD_CLOEXEC, 0);
  c.reset();
  EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
}

TEST(ErrorFromErrno, SaysWhatAndMeaning) {
  const Error error = error_from_errno(ENOENT, "open /a\n");
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message.rfind("open /a\\x0a: ", 0), 0U) << error.message;
  EXPECT_EQ(error_from_errno(ENOSPC, "").code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(error_from_errno(EACCES, "").code, ErrorCode::kPermissionDenied);
}

TEST(ReadFile, ReadsWholeFilesUpToTheLimit) {
  const TempDirectory dir;
  for (const std::size_t size : {0U, 1U, 65535U, 65536U, 200000U}) {
    const std::string content(size, 'x');
    ASSERT_TRUE(write_file_atomic(dir / "f", content));
    EXPECT_EQ(read_file(dir / "f", 200000).value(), content);
  }
  EXPECT_EQ(read_file(dir / "f", 199999).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(read_file(dir / "none", 1).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_file(dir.path(), 1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(read_file("/proc/self/status", 100000).value().find("Pid:"), std::string::npos);
}

TEST(WriteFileAtomic, ReplacesWithModeAndLeavesNothingElse) {
  const TempDirectory dir;
  ASSERT_TRUE(write_file_atomic(dir / "f", "old"));
  ASSERT_TRUE(write_file_atomic(dir / "f", "new", 0600));
  EXPECT_EQ(read_file(dir / "f", 10).value(), "new");
  const Tree tree = list_tree(dir.path(), 10).value();
  ASSERT_EQ(tree.files.size(), 1U);
  EXPECT_EQ(tree.files[0].mode, 0600U);
  ASSERT_TRUE(make_directories(dir / "d"));
  EXPECT_FALSE(write_file_atomic(dir / "d", "x"));
  EXPECT_EQ(list_tree(dir.path(), 10)->files.size(), 1U);
}

TEST(MakeDirectories, IsIdempotentAndRefusesFiles) {
  const TempDirectory dir;
  ASSERT_TRUE(make_directories(dir / "a/b//c/"));
  ASSERT_TRUE(make_directories_durable(dir / "a/b/c/d/e"));
  ASSERT_TRUE(make_directories(dir / "a/b/c/d/e"));
  ASSERT_TRUE(make_directories("/"));
  ASSERT_TRUE(write_file_atomic(dir / "f", ""));
  EXPECT_EQ(make_directories(dir / "f").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(make_directories(dir / "f/g").error().code, ErrorCode::kNotFound);
}

TEST(RemoveTree, RemovesReadOnlyTreesAndDoesNotFollowLinks) {
  const TempDirectory dir;
  ASSERT_TRUE(make_directories(dir / "t/sub/deep"));
  ASSERT_TRUE(make_directories(dir / "outside"));
  ASSERT_TRUE(write_file_atomic(dir / "outside/keep", "k"));
  ASSERT_TRUE(write_file_atomic(dir / "t/sub/deep/f", "x"));
  ASSERT_EQ(::symlink((dir / "outside").c_str(), (dir / "t/link").c_str()), 0);
  ASSERT_EQ(::chmod((dir / "t/sub/deep").c_str(), 0500), 0);
  ASSERT_EQ(::chmod((dir / "t/sub").c_str(), 0), 0);
  ASSERT_TRUE(remove_tree(dir / "t"));
  EXPECT_NE(::access((dir / "t").c_str(), F_OK), 0);
  EXPECT_TRUE(read_file(dir / "outside/keep", 10));
  EXPECT_TRUE(remove_tree(dir / "t"));
  EXPECT_TRUE(remove_tree(dir / "outside/keep/under-a-file"));
  EXPECT_TRUE(remove_tree(dir / "outside/keep"));
}

TEST(ListTree, SortsByPathAndReportsLinks) {
  const TempDirectory dir;
  ASSERT_TRUE(make_directories(dir / "a"));
  ASSERT_TRUE(make_directories(dir / "empty"));
  for (const char* name : {"a/b", "a-b", "z"}) {
    ASSERT_TRUE(write_file_atomic(dir / name, name));
  }
  ASSERT_EQ(::symlink("z", (dir / "a/link").c_str()), 0);
  const Tree tree = list_tree(dir.path(), 4).value();
  ASSERT_EQ(tree.files.size(), 3U);
  EXPECT_EQ(tree.files[0].path, "a-b");
  EXPECT_EQ(tree.files[1].path, "a/b");
  EXPECT_EQ(tree.files[1].size, 3);
  EXPECT_EQ(tree.links, std::vector<std::string>{"a/link"});
  EXPECT_EQ(list_tree(dir.path(), 3).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(list_tree(dir / "none", 3).error().code, ErrorCode::kNotFound);
}

TEST(CheckRelativePath, Confines) {
  for (const char* good : {"a", "a/b", "..a/b..", ".hidden/x", "a b\n"}) {
    EXPECT_TRUE(check_relative_path(good)) << good;
  }
  for (const char* bad : {"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b"}) {
    EXPECT_FALSE(check_relative_path(bad)) << bad;
  }
  EXPECT_FALSE(check_relative_path(std::string("a\0b", 3)));
  EXPECT_FALSE(check_relative_path(std::string(4097, 'a')));
}

TEST(CopyContents, CopiesAllAndReflinksWhereItCan) {
  const TempDirectory dir;
  const std::string content(3'000'001, 'q');
  ASSERT_TRUE(write_file_atomic(dir / "from", content));
  const Fd from = open_file(dir / "from", O_RDONLY).value();
  const Fd to = open_file(dir / "to", O_WRONLY | O_CREAT).value();
  EXPECT_EQ(copy_contents(from.get(), to.get()).value(), 3'000'001);
  EXPECT_EQ(read_file(dir / "to", 4'000'000).value(), content);
  const Fd clone = open_file(dir / "clone", O_WRONLY | O_CREAT).value();
  const bool cloned = try_reflink(from.get(), clone.get()).value();
  EXPECT_EQ(read_file(dir / "clone", 4'000'000).value(), cloned ? content : "");
}

}  // namespace
}  // namespace loam::io
