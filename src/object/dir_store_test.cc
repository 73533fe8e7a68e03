// SPDX-License-Identifier: Apache-2.0
#include "object/dir_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "io/temp_directory.h"

namespace loam::object {
namespace {

using testing::UnorderedElementsAre;

std::unique_ptr<DirStore> open_store(const std::string& path) {
  return std::move(DirStore::open(path).value());
}

std::vector<std::string> files_below(const std::string& path) {
  std::vector<std::string> paths;
  const io::Tree tree = io::list_tree(path, 1000).value();
  for (const io::FileEntry& file : tree.files)
    paths.push_back(file.path);
  return paths;
}

TEST(DirLayout, OrdinaryKeysArePlainPaths) {
  const KeyPath path = path_of_key("users/ann/models/emoji v2/mod\xc3\xa8le_1.pt");
  EXPECT_EQ(path.directory() + "/" + path.file, "users/ann/models/emoji v2/mod\xc3\xa8le_1.pt");
}

TEST(DirLayout, OddKeysAreEscaped) {
  const auto where = [](const std::string& key) {
    const KeyPath path = path_of_key(key);
    return join_path(path.directory(), path.file);
  };
  EXPECT_EQ(where("/"), "%/%");
  EXPECT_EQ(where("a//b/"), "a/%/b/%");
  EXPECT_EQ(where("./../..."), "%2E/%2E%2E/...");
  EXPECT_EQ(where("100%/x\n"), "100%25/x%0A");
  EXPECT_EQ(where("\xff\xc3\xa9"), "%FF%C3%A9");
  EXPECT_EQ(where(".loam-tmp/lock"), "%2Eloam-tmp/lock");
  EXPECT_EQ(where(std::string(250, 'x') + "/f"),
            std::string(240, 'x') + "%more/" + std::string(10, 'x') + "/f");
  // A rest of "." or ".." would name another directory.
  const std::string x237(237, 'x');
  EXPECT_EQ(path_of_key(x237 + "xxx../f").directory(), x237 + "%more/xxx..");
  EXPECT_EQ(path_of_key(x237 + "xxx.").file, "xxx.");
  EXPECT_EQ(path_of_key(std::string(80, '\x7f') + ".").file, "%7F.");
  for (const char* foreign : {"", "%2f", "%41", "a%", "a%2", "%%", "%object", "x%0"}) {
    EXPECT_FALSE(decode_segment(foreign)) << foreign;
  }
}

TEST(DirLayout, EveryKeyFitsInTheLimitsOfLinux) {
  std::string slashes(kMaxKeyBytes, '/');
  for (const std::string& key : {slashes, std::string(kMaxKeyBytes, '\x01')}) {
    const KeyPath path = path_of_key(key);
    EXPECT_LT(path.directory().size() + path.file.size(), 3300U);
    for (const std::string& name : path.directories)
      EXPECT_LE(name.size(), 255U);
    EXPECT_LE(path.file.size() + kObjectSuffix.size(), 255U);
  }
  const io::TempDirectory directory;
  const auto store = open_store(directory / "s");
  ASSERT_TRUE(put_bytes(*store, std::string(kMaxKeyBytes, '\x01'), "deep"));
  EXPECT_EQ(store->list("", {})->objects.size(), 1U);
  ASSERT_TRUE(store->remove(std::string(kMaxKeyBytes, '\x01')));
}

TEST(DirStore, AnObjectStepsAsideForADirectoryOfItsName) {
  const io::TempDirectory directory;
  const auto store = open_store(directory / "s");
  ASSERT_TRUE(put_bytes(*store, "a", "file"));
  ASSERT_TRUE(put_bytes(*store, "a/b", "below"));
  EXPECT_THAT(files_below(directory / "s"),
              UnorderedElementsAre(".loam-tmp/lock", "a%object", "a/b"));
  ASSERT_TRUE(put_bytes(*store, "a", "newer"));
  EXPECT_EQ(get_bytes(*store, "a", 100).value(), "newer");
  EXPECT_THAT(files_below(directory / "s"),
              UnorderedElementsAre(".loam-tmp/lock", "a%object", "a/b"));
  ASSERT_TRUE(store->remove("a/b"));
  EXPECT_EQ(get_bytes(*store, "a", 100).value(), "newer");
  ASSERT_TRUE(store->remove("a"));
  EXPECT_THAT(files_below(directory / "s"), UnorderedElementsAre(".loam-tmp/lock"));
}

TEST(DirStore, PrefersThePlainFileShouldBothExist) {
  const io::TempDirectory directory;
  const auto store = open_store(directory / "s");
  ASSERT_TRUE(io::write_file_atomic(directory / "s/a", "plain"));
  ASSERT_TRUE(io::write_file_atomic(directory / "s/a%object", "aside"));
  EXPECT_EQ(get_bytes(*store, "a", 100).value(), "plain");
  EXPECT_EQ(store->list("", {})->objects.size(), 1U);
  ASSERT_TRUE(put_bytes(*store, "a", "new"));
  EXPECT_EQ(get_bytes(*store, "a", 100).value(), "new");
  ASSERT_TRUE(store->remove("a"));
  EXPECT_FALSE(store->head("a"));
}

TEST(DirStore, IgnoresWhatIsNotItsOwn) {
  const io::TempDirectory directory;
  const auto store = open_store(directory / "s");
  ASSERT_TRUE(io::make_directories(directory / "s/empty/dirs"));
  ASSERT_TRUE(io::write_file_atomic(directory / "s/bad%zzname", "x"));
  ASSERT_EQ(::symlink("/etc/passwd", (directory / "s/link").c_str()), 0);
  ASSERT_EQ(::mkfifo((directory / "s/fifo").c_str(), 0600), 0);
  EXPECT_TRUE(store->list("", {})->objects.empty());
  ListOptions options;
  options.delimiter = true;
  EXPECT_TRUE(store->list("", options)->prefixes.empty());
  EXPECT_EQ(store->get("link", {}, "").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store->get("fifo", {}, "").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(put_bytes(*store, "link", "x").error().code, ErrorCode::kConflict);
  EXPECT_TRUE(store->remove("link"));
  EXPECT_EQ(::access((directory / "s/link").c_str(), F_OK), 0);
}

TEST(DirStore, RemovesOnlyStaleTemporaryFilesAtOpen) {
  const io::TempDirectory directory;
  open_store(directory / "s");
  ASSERT_TRUE(io::write_file_atomic(directory / "s/.loam-tmp/put-old", "x"));
  ASSERT_TRUE(io::write_file_atomic(directory / "s/.loam-tmp/put-new", "x"));
  const timespec old[2] = {{::time(nullptr) - 90'000, 0}, {::time(nullptr) - 90'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (directory / "s/.loam-tmp/put-old").c_str(), old, 0), 0);
  open_store(directory / "s");
  EXPECT_THAT(files_below(directory / "s/.loam-tmp"), UnorderedElementsAre("lock", "put-new"));
}

TEST(DirStore, RefusesARootThatLeavesNoRoomForKeys) {
  EXPECT_EQ(DirStore::open("").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(DirStore::open("/" + std::string(2000, 'x')).error().code, ErrorCode::kInvalidArgument);
}

bool change_much(DirStore& store) {
  return put_bytes(store, "a", "two") && put_bytes(store, "a/b/c", "below") &&
         store.copy("a", "copy/of") && store.remove("gone") && put_bytes(store, "done", "");
}

// Not a test of its own: the program that the test below starts and that kills itself.
TEST(DirStoreCrashChild, Work) {
  const char* root = std::getenv("LOAM_TEST_STORE");
  if (root == nullptr) GTEST_SKIP() << "runs only as a child of AKillAtAnyDurableChange";
  ::_exit(change_much(*open_store(root)) ? 0 : 1);
}

// Runs change_much in a process that is killed at the n-th durable change. True if it got to the
// end. A fresh process, since crash_point reads its variable once.
bool survives(int n, const std::string& root) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("LOAM_CRASH_AT_WRITE", std::to_string(n).c_str(), 1);
    ::setenv("LOAM_TEST_STORE", root.c_str(), 1);
    ::execl("/proc/self/exe", "object_test", "--gtest_filter=DirStoreCrashChild.Work",
            "--gtest_brief=1", nullptr);
    ::_exit(2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    return false;
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return true;
}

TEST(DirStore, AKillAtAnyDurableChangeLeavesOldOrNew) {
  bool finished = false;
  int n = 1;
  for (; n < 50 && !finished; ++n) {
    const io::TempDirectory directory;
    {
      const auto store = open_store(directory / "s");
      ASSERT_TRUE(put_bytes(*store, "a", "one"));
      ASSERT_TRUE(put_bytes(*store, "gone", "x"));
    }
    finished = survives(n, directory / "s");
    const auto store = open_store(directory / "s");
    const auto a = get_bytes(*store, "a", 100);
    ASSERT_TRUE(a) << n << a.error().to_string();
    EXPECT_TRUE(*a == "one" || *a == "two") << n;
    // Changes became visible in the order in which they were made.
    const bool copied = store->head("copy/of").has_value();
    EXPECT_TRUE(*a == "two" || !store->head("a/b/c")) << n;
    EXPECT_TRUE(!copied || get_bytes(*store, "copy/of", 100).value() == "two") << n;
    EXPECT_TRUE(copied || store->head("gone")) << n;
    const ListPage page = store->list("", {}).value();
    for (const ObjectInfo& object : page.objects) {
      EXPECT_TRUE(store->get(object.key, {}, "")) << n << object.key;
    }
    // A second run comes to the end whatever the first left.
    EXPECT_TRUE(change_much(*store)) << n;
    EXPECT_EQ(store->list("", {})->objects.size(), 4U) << n;
  }
  EXPECT_TRUE(finished);
  EXPECT_GT(n, 12);
}

TEST(DirStore, ConditionsHoldAcrossProcesses) {
  const io::TempDirectory directory;
  const auto store = open_store(directory / "s");
  ASSERT_TRUE(put_bytes(*store, "counter", "0"));
  const auto add = [](DirStore& of, int times) {
    for (int done = 0; done < times;) {
      PutOptions options;
      options.if_match = of.head("counter")->etag;
      const auto reader = of.get("counter", {}, options.if_match);
      if (!reader) continue;
      std::string text(static_cast<std::size_t>((*reader)->length()), '\0');
      (*reader)->read(std::as_writable_bytes(std::span(text))).value();
      if (of.put("counter", source_from(std::to_string(std::stoi(text) + 1)), options)) ++done;
    }
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) {
      add(*open_store(directory / "s"), 20);
      ::_exit(0);
    }
  }
  for (const pid_t child : children)
    ::waitpid(child, nullptr, 0);
  EXPECT_EQ(get_bytes(*store, "counter", 10).value(), "60");
}

}  // namespace
}  // namespace loam::object
