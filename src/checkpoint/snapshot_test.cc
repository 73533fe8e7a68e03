// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/snapshot.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "base/units.h"
#include "io/crc32c.h"
#include "io/file.h"
#include "io/temp_directory.h"

namespace loam::checkpoint {
namespace {

void overwrite(const std::string& path, std::int64_t offset, const std::string& bytes) {
  // Past the grain of the kernel's clock for file times.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const io::Fd fd = io::open_file(path, O_WRONLY).value();
  ASSERT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), offset),
            static_cast<ssize_t>(bytes.size()));
}

class SnapshotTest : public testing::TestWithParam<SnapshotMethod> {
 protected:
  void SetUp() override { ASSERT_TRUE(io::make_directories(dir_ / "ckpt")); }

  void make_file(const std::string& name, std::string_view content, unsigned mode = 0644) {
    const std::string path = dir_ / "ckpt/" + name;
    ASSERT_TRUE(io::make_directories(path.substr(0, path.rfind('/'))));
    ASSERT_TRUE(io::write_file_atomic(path, content, mode));
  }
  Unit unit(UnitKind kind = UnitKind::kDirectory, const std::string& match = "step-(\\d+)") {
    CheckpointSpec spec;
    spec.unit = kind;
    spec.match = match;
    UnitFinder finder = UnitFinder::create(spec, clock_).value();
    const UnitScan scan = finder.scan(dir_ / "ckpt").value();
    CHECK(!scan.complete.empty());
    return scan.complete.back();
  }
  Result<Snapshot> take(const Unit& of, UnitKind kind = UnitKind::kDirectory) {
    return Snapshot::take(of, kind, dir_ / "staging", {GetParam()});
  }
  bool staging_exists() const { return ::access((dir_ / "staging").c_str(), F_OK) == 0; }

  io::TempDirectory dir_;
  SystemClock clock_;
};

TEST_P(SnapshotTest, KeepsAUnitThatTheProgramDeletesAtOnce) {
  make_file("step-50/model.pt", "weights", 0600);
  make_file("step-50/optim/rank0.pt", std::string(5'000'000, 'o'));
  make_file("step-50/empty", "");
  Snapshot snapshot = take(unit()).value();
  EXPECT_GE(snapshot.method(), GetParam());
  ASSERT_TRUE(io::remove_tree(dir_ / "ckpt/step-50"));
  const SetManifest manifest = snapshot.hash().value();
  EXPECT_EQ(manifest.step, 50);
  EXPECT_EQ(manifest.name, "step-50");
  ASSERT_EQ(manifest.files.size(), 3U);
  EXPECT_EQ(manifest.files[0].path, "empty");
  EXPECT_EQ(manifest.files[1].mode, 0600U);
  EXPECT_EQ(manifest.files[2].crc, io::checksum_file(snapshot.path_of("optim/rank0.pt"))->crc);
  EXPECT_EQ(manifest.total_bytes(), 5'000'007);
  EXPECT_TRUE(snapshot.check_unchanged());
  ASSERT_TRUE(snapshot.discard());
  EXPECT_FALSE(staging_exists());
}

TEST_P(SnapshotTest, TakesSingleFiles) {
  make_file("m12.pt", "weights");
  Snapshot snapshot = take(unit(UnitKind::kFile, "m(\\d+)\\.pt"), UnitKind::kFile).value();
  const SetManifest manifest = snapshot.hash().value();
  ASSERT_EQ(manifest.files.size(), 1U);
  EXPECT_EQ(manifest.files[0].path, "m12.pt");
  EXPECT_EQ(io::read_file(snapshot.path_of("m12.pt"), 100).value(), "weights");
}

TEST_P(SnapshotTest, TakesFourThousandSmallFiles) {
  for (int i = 0; i < 4000; ++i) {
    const std::string path = dir_ / "ckpt/step-1/d" + std::to_string(i % 40);
    ASSERT_TRUE(io::make_directories(path));
    const io::Fd fd = io::open_file(path + "/" + std::to_string(i), O_WRONLY | O_CREAT).value();
    const std::string content = std::to_string(i);
    ASSERT_TRUE(io::write_all(fd.get(), std::as_bytes(std::span(content))));
  }
  Snapshot snapshot = take(unit()).value();
  const SetManifest manifest = snapshot.hash().value();
  EXPECT_EQ(manifest.files.size(), 4000U);
  EXPECT_EQ(parse_manifest(format_manifest(manifest)).value(), manifest);
}

TEST_P(SnapshotTest, RefusesAUnitThatIsNotTheOneFound) {
  make_file("step-1/a", "1");
  make_file("step-1/b", "2");
  const Unit found = unit();
  ASSERT_TRUE(io::remove_tree(dir_ / "ckpt/step-1/b"));
  EXPECT_EQ(take(found).error().code, ErrorCode::kConflict);
  EXPECT_FALSE(staging_exists());
  ASSERT_TRUE(io::remove_tree(dir_ / "ckpt/step-1"));
  EXPECT_EQ(take(found).error().code, ErrorCode::kConflict);
  EXPECT_FALSE(staging_exists());
  make_file("step-1/a", "1");
  make_file("step-1/b", "2");
  EXPECT_EQ(take(found).error().code, ErrorCode::kConflict);
}

TEST_P(SnapshotTest, RefusesAUnitWhoseDeletionBeganInASubdirectory) {
  make_file("step-1/sub/a", "1");
  make_file("step-1/sub/b", "2");
  const Unit found = unit();
  EXPECT_EQ(found.files, 2);
  ASSERT_TRUE(io::remove_tree(dir_ / "ckpt/step-1/sub/b"));
  EXPECT_EQ(take(found).error().code, ErrorCode::kConflict);
}

TEST_P(SnapshotTest, RefusesUnitsWithoutFilesAndExistingDirectories) {
  ASSERT_TRUE(io::make_directories(dir_ / "ckpt/step-1/sub"));
  EXPECT_EQ(take(unit()).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(staging_exists());
  ASSERT_TRUE(io::make_directories(dir_ / "staging/of/others"));
  EXPECT_EQ(take(unit()).error().code, ErrorCode::kAlreadyExists);
  EXPECT_TRUE(staging_exists());
}

TEST_P(SnapshotTest, ResolvesLinksInsideAndRefusesAllOthers) {
  make_file("step-1/blobs/abc", "content");
  ASSERT_EQ(::symlink("blobs/abc", (dir_ / "ckpt/step-1/model.pt").c_str()), 0);
  {
    Snapshot snapshot = take(unit()).value();
    const SetManifest manifest = snapshot.hash().value();
    ASSERT_EQ(manifest.files.size(), 2U);
    EXPECT_EQ(manifest.files[1].path, "model.pt");
    EXPECT_EQ(manifest.files[1].crc, manifest.files[0].crc);
    EXPECT_EQ(io::read_file(snapshot.path_of("model.pt"), 100).value(), "content");
    ASSERT_TRUE(snapshot.discard());
  }
  make_file("outside", "secret");
  for (const char* target : {"../outside", "/etc/passwd", "nowhere", "blobs", "bad", "."}) {
    ASSERT_EQ(::symlink(target, (dir_ / "ckpt/step-1/bad").c_str()), 0);
    const auto snapshot = take(unit());
    EXPECT_EQ(snapshot.error().code, ErrorCode::kInvalidArgument) << target;
    EXPECT_NE(snapshot.error().message.find("step-1/bad"), std::string::npos);
    EXPECT_FALSE(staging_exists());
    ::unlink((dir_ / "ckpt/step-1/bad").c_str());
  }
}

TEST_P(SnapshotTest, AProgramMayDeleteWhileItIsHashed) {
  make_file("step-1/w", std::string(3'000'000, 'w'));
  Snapshot snapshot = take(unit()).value();
  int calls = 0;
  const auto manifest = snapshot.hash([&](std::int64_t) -> Status {
    if (++calls == 2) return io::remove_tree(dir_ / "ckpt/step-1");
    return {};
  });
  ASSERT_TRUE(manifest) << manifest.error().to_string();
  EXPECT_EQ(manifest->files[0].size, 3'000'000);
}

TEST_P(SnapshotTest, AnErrorFromProgressEndsTheWork) {
  make_file("step-1/w", "w");
  Snapshot snapshot = take(unit()).value();
  const auto manifest = snapshot.hash([](std::int64_t) { return fail(ErrorCode::kCanceled, ""); });
  EXPECT_EQ(manifest.error().code, ErrorCode::kCanceled);
  EXPECT_FALSE(staging_exists());
}

// A program with no manners: it writes each checkpoint, renames it into place and deletes the one
// before at once, as fast as it can.
TEST_P(SnapshotTest, EverySnapshotOfARotatingProgramIsWhole) {
  std::atomic<bool> stop{false};
  std::thread program([&] {
    for (int step = 1; !stop; ++step) {
      const std::string name = dir_ / "ckpt/step-" + std::to_string(step);
      CHECK(io::make_directories(name + ".tmp"));
      for (int i = 0; i < 5; ++i) {
        const io::Fd fd =
            io::open_file(name + ".tmp/" + std::to_string(i), O_WRONLY | O_CREAT).value();
        const std::string content(10'000, static_cast<char>('a' + step % 26));
        CHECK(io::write_all(fd.get(), std::as_bytes(std::span(content))));
      }
      CHECK(::rename((name + ".tmp").c_str(), name.c_str()) == 0);
      CHECK(io::remove_tree(dir_ / "ckpt/step-" + std::to_string(step - 1)));
      std::this_thread::sleep_for(std::chrono::milliseconds(step % 3));
    }
  });
  CheckpointSpec spec;
  spec.match = "step-(\\d+)";
  UnitFinder finder = UnitFinder::create(spec, clock_).value();
  int whole = 0;
  for (int tries = 0; tries < 3000 && whole < 30; ++tries) {
    const UnitScan scan = finder.scan(dir_ / "ckpt").value();
    if (scan.complete.empty()) continue;
    Result<Snapshot> snapshot = take(scan.complete.back());
    Result<SetManifest> manifest = snapshot ? snapshot->hash() : fail(snapshot.error());
    if (!manifest) {
      EXPECT_EQ(manifest.error().code, ErrorCode::kConflict) << manifest.error().to_string();
      EXPECT_FALSE(staging_exists());
      continue;
    }
    ++whole;
    EXPECT_EQ(manifest->files.size(), 5U);
    const std::string expected(10'000, static_cast<char>('a' + manifest->step % 26));
    for (const ManifestFile& file : manifest->files) {
      EXPECT_EQ(io::read_file(snapshot->path_of(file.path), 20'000).value(), expected);
    }
    EXPECT_TRUE(snapshot->discard());
  }
  stop = true;
  program.join();
  EXPECT_EQ(whole, 30);
}

INSTANTIATE_TEST_SUITE_P(Methods, SnapshotTest,
                         testing::Values(SnapshotMethod::kReflink, SnapshotMethod::kHardLink,
                                         SnapshotMethod::kCopy));

// What only hard links are exposed to.
class HardLinkTest : public SnapshotTest {
 protected:
  // Hashes a file of 3 MiB, and after the first of them lets `meanwhile` happen.
  Result<SetManifest> hash_while(const std::function<void()>& meanwhile) {
    make_file("step-1/w", std::string(3 * kMiB, 'w'));
    Snapshot snapshot = take(unit()).value();
    CHECK(snapshot.method() == SnapshotMethod::kHardLink);
    int calls = 0;
    return snapshot.hash([&](std::int64_t) -> Status {
      if (++calls == 1) meanwhile();
      return {};
    });
  }
  std::string source() const { return dir_ / "ckpt/step-1/w"; }
};

TEST_P(HardLinkTest, WritesInPlaceDuringHashingAreNoticed) {
  // Before the place that was read already, and after it.
  for (const std::int64_t offset : {std::int64_t{0}, 2 * kMiB}) {
    const auto manifest = hash_while([&] { overwrite(source(), offset, "changed"); });
    EXPECT_EQ(manifest.error().code, ErrorCode::kConflict);
    EXPECT_FALSE(staging_exists());
  }
}

TEST_P(HardLinkTest, GrowthAndTruncationDuringHashingAreNoticed) {
  for (const std::int64_t size : {std::int64_t{0}, 4 * kMiB}) {
    const auto manifest = hash_while([&] { ASSERT_EQ(::truncate(source().c_str(), size), 0); });
    EXPECT_EQ(manifest.error().code, ErrorCode::kConflict);
  }
}

TEST_P(HardLinkTest, TimesThatAreSetBackDoNotHideAWrite) {
  const auto manifest = hash_while([&] {
    struct stat st {};
    ASSERT_EQ(::stat(source().c_str(), &st), 0);
    overwrite(source(), 0, "changed");
    const timespec times[2] = {st.st_atim, st.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, source().c_str(), times, 0), 0);
  });
  EXPECT_EQ(manifest.error().code, ErrorCode::kConflict);
}

TEST_P(HardLinkTest, WritesAfterHashingAreNoticedWhenAsked) {
  make_file("step-1/w", "content");
  Snapshot snapshot = take(unit()).value();
  ASSERT_TRUE(snapshot.hash());
  ASSERT_EQ(::chmod(source().c_str(), 0600), 0);
  EXPECT_TRUE(snapshot.check_unchanged());
  overwrite(source(), 0, "CONTENT");
  EXPECT_EQ(snapshot.check_unchanged().error().code, ErrorCode::kConflict);
}

TEST_P(HardLinkTest, AppendedFilesAreNoticedBetweenTakingAndHashing) {
  make_file("step-1/w", "content");
  Snapshot snapshot = take(unit()).value();
  overwrite(source(), 7, "more");
  EXPECT_EQ(snapshot.hash().error().code, ErrorCode::kConflict);
  EXPECT_FALSE(staging_exists());
}

INSTANTIATE_TEST_SUITE_P(Methods, HardLinkTest, testing::Values(SnapshotMethod::kHardLink));

}  // namespace
}  // namespace loam::checkpoint
