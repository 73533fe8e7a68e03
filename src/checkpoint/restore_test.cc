// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/restore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "base/units.h"
#include "io/crc32c.h"
#include "io/file.h"
#include "io/temp_directory.h"

namespace loam::checkpoint {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Contents = std::map<std::string, std::string>;

std::string content_of(std::size_t size, unsigned seed) {
  std::string content(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    content[i] = static_cast<char>((i + seed) * 2654435761U >> 13U);
  }
  return content;
}

SetManifest manifest_of(const Contents& contents, std::int64_t step) {
  SetManifest manifest;
  manifest.step = step;
  manifest.name = "step-" + std::to_string(step);
  for (const auto& [path, content] : contents) {
    io::BlockChecksums checksums;
    checksums.update(std::as_bytes(std::span(content)));
    manifest.files.push_back(
        {path, checksums.length(), 0640, io::format_checksums(checksums.values())});
  }
  return manifest;
}

Status send(std::string_view content, const ByteSink& sink, std::size_t piece = 300'007) {
  for (std::size_t at = 0; at < content.size(); at += piece) {
    const std::string_view part = content.substr(at, piece);
    TRY_VOID(sink(std::as_bytes(std::span(part))));
  }
  return {};
}

FetchFile fetch_from(const SetManifest& manifest, const Contents& contents) {
  return [&manifest, &contents](std::size_t index, const ByteSink& sink) {
    return send(contents.at(manifest.files.at(index).path), sink);
  };
}

Contents example() {
  return {{"a.txt", "hello"},
          {"big.bin", content_of(2 * kBlockBytes + 77, 1)},
          {"empty", ""},
          {"sub/exact.bin", content_of(kBlockBytes, 2)}};
}

Contents read_back(const std::string& path) {
  Contents contents;
  const io::Tree tree = io::list_tree(path, 10'000).value();
  for (const io::FileEntry& file : tree.files) {
    contents[file.path] = io::read_file(path + "/" + file.path, kGiB).value();
  }
  return contents;
}

TEST(RestoreSet, WritesTheUnitAndNothingElse) {
  const io::TempDirectory dir;
  const Contents contents = example();
  const SetManifest manifest = manifest_of(contents, 50);
  const std::string path =
      restore_set(manifest, fetch_from(manifest, contents), dir / "new/ckpt").value();
  EXPECT_EQ(path, dir / "new/ckpt/step-50");
  EXPECT_EQ(read_back(path), contents);
  EXPECT_EQ(io::list_tree(path, 10)->files.at(0).mode, 0640U);
  EXPECT_EQ(read_back(dir / "new/ckpt").size(), contents.size());
}

TEST(RestoreSet, ReplacesAnOlderUnitAndLeftovers) {
  const io::TempDirectory dir;
  ASSERT_TRUE(io::make_directories(dir / "step-50/old"));
  ASSERT_TRUE(io::write_file_atomic(dir / "step-50/old/file", "stale"));
  ASSERT_TRUE(io::make_directories(dir / "step-50.loam-tmp"));
  ASSERT_TRUE(io::write_file_atomic(dir / "step-50.loam-tmp/torn", "stale"));
  const Contents contents = example();
  const SetManifest manifest = manifest_of(contents, 50);
  ASSERT_TRUE(restore_set(manifest, fetch_from(manifest, contents), dir.path()));
  EXPECT_EQ(read_back(dir / "step-50"), contents);
  EXPECT_NE(::access((dir / "step-50.loam-tmp").c_str(), F_OK), 0);
}

TEST(RestoreSet, RestoresAUnitThatIsAFile) {
  const io::TempDirectory dir;
  const Contents contents = {{"m7.pt", content_of(123, 3)}};
  SetManifest manifest = manifest_of(contents, 7);
  manifest.unit = UnitKind::kFile;
  manifest.name = "m7.pt";
  for (int i = 0; i < 2; ++i) {  // the second time over the first
    ASSERT_TRUE(restore_set(manifest, fetch_from(manifest, contents), dir.path()));
    EXPECT_EQ(read_back(dir.path()), contents);
  }
}

TEST(RestoreSet, ManyFilesAreSyncedTogether) {
  const io::TempDirectory dir;
  Contents contents;
  for (int i = 0; i < 4000; ++i) {
    contents["d" + std::to_string(i % 7) + "/" + std::to_string(i)] = std::to_string(i);
  }
  const SetManifest manifest = manifest_of(contents, 1);
  ASSERT_TRUE(restore_set(manifest, fetch_from(manifest, contents), dir.path()));
  EXPECT_EQ(read_back(dir / "step-1"), contents);
}

TEST(RestoreSet, ABitFlipIsFoundAndNamed) {
  const Contents contents = example();
  const SetManifest manifest = manifest_of(contents, 50);
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{kBlockBytes + 5}, std::size_t{2 * kBlockBytes + 76}}) {
    const io::TempDirectory dir;
    Contents flipped = contents;
    flipped["big.bin"][at] = static_cast<char>(flipped["big.bin"][at] ^ 0x10);
    const auto restored = restore_set(manifest, fetch_from(manifest, flipped), dir.path());
    ASSERT_EQ(restored.error().code, ErrorCode::kDataCorrupt);
    EXPECT_THAT(restored.error().message, HasSubstr("'big.bin'"));
    EXPECT_THAT(restored.error().message,
                HasSubstr("block " + std::to_string(at / static_cast<std::size_t>(kBlockBytes))));
    EXPECT_THAT(read_back(dir.path()), IsEmpty());
    EXPECT_NE(::access((dir / "step-50.loam-tmp").c_str(), F_OK), 0);
  }
}

TEST(RestoreSet, WrongLengthsAreFound) {
  const Contents contents = example();
  const SetManifest manifest = manifest_of(contents, 50);
  for (const char* path : {"a.txt", "sub/exact.bin", "big.bin"}) {
    for (const int change : {-1, 1}) {
      const io::TempDirectory dir;
      Contents wrong = contents;
      wrong[path].resize(wrong[path].size() + static_cast<std::size_t>(change));
      const auto restored = restore_set(manifest, fetch_from(manifest, wrong), dir.path());
      EXPECT_EQ(restored.error().code, ErrorCode::kDataCorrupt) << path << change;
      EXPECT_THAT(read_back(dir.path()), IsEmpty());
    }
  }
}

TEST(RestoreSet, AFetchThatHidesErrorsOrFailsLeavesNothing) {
  const io::TempDirectory dir;
  const SetManifest manifest = manifest_of(example(), 50);
  const auto hides = [](std::size_t, const ByteSink& sink) -> Status {
    (void)send("wrong", sink);
    (void)send("and more", sink);
    return {};
  };
  EXPECT_EQ(restore_set(manifest, hides, dir.path()).error().code, ErrorCode::kDataCorrupt);
  const auto fails = [](std::size_t, const ByteSink&) -> Status {
    return fail(ErrorCode::kUnavailable, "no answer");
  };
  EXPECT_EQ(restore_set(manifest, fails, dir.path()).error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(read_back(dir.path()), IsEmpty());
}

TEST(RestoreSet, APathOfThisMachineIsNotAMissingObject) {
  const io::TempDirectory dir;
  ASSERT_TRUE(io::write_file_atomic(dir / "file", ""));
  const Contents contents = example();
  const SetManifest manifest = manifest_of(contents, 50);
  // Else every set would be marked bad because of a directory that nobody can make.
  const auto restored = restore_set(manifest, fetch_from(manifest, contents), dir / "file/ckpt");
  EXPECT_EQ(restored.error().code, ErrorCode::kInternal) << restored.error().to_string();
}

class ChooseAndRestore : public testing::Test {
 protected:
  ChooseAndRestore() {
    for (const std::int64_t step : {10, 20, 100}) {
      const std::string id = "set-" + std::to_string(step);
      stored_[id] = {{"model", content_of(1000, static_cast<unsigned>(step))}};
      manifests_[id] = manifest_of(stored_[id], step);
      candidates_.insert(candidates_.begin(), {id, step});
    }
  }
  RestoreReport run() {
    RestoreSource source;
    source.load_manifest = [this](const RestoreCandidate& of) -> Result<SetManifest> {
      const auto it = manifests_.find(of.id);
      if (it == manifests_.end()) return fail(ErrorCode::kNotFound, "no such manifest");
      return it->second;
    };
    source.fetch = [this](const RestoreCandidate& of, const SetManifest& manifest,
                          std::size_t index, const ByteSink& sink) -> Status {
      if (down_) return fail(ErrorCode::kUnavailable, "the store does not answer");
      const auto it = stored_[of.id].find(manifest.files[index].path);
      if (it == stored_[of.id].end()) return fail(ErrorCode::kNotFound, "no such object");
      return send(it->second, sink);
    };
    return choose_and_restore(candidates_, source, dir_.path());
  }

  io::TempDirectory dir_;
  std::map<std::string, Contents> stored_;
  std::map<std::string, SetManifest> manifests_;
  std::vector<RestoreCandidate> candidates_;
  bool down_ = false;
};

TEST_F(ChooseAndRestore, TakesTheNewest) {
  const RestoreReport report = run();
  ASSERT_TRUE(report.restored);
  EXPECT_EQ(report.restored->step, 100);
  EXPECT_EQ(report.path, dir_ / "step-100");
  EXPECT_THAT(report.bad, IsEmpty());
  EXPECT_FALSE(report.error);
}

TEST_F(ChooseAndRestore, FallsBackAndNamesTheBadOnes) {
  stored_["set-100"]["model"][500] ^= 1;
  stored_["set-20"].clear();
  const RestoreReport report = run();
  ASSERT_TRUE(report.restored);
  EXPECT_EQ(report.restored->id, "set-10");
  ASSERT_EQ(report.bad.size(), 2U);
  EXPECT_EQ(report.bad[0].candidate.id, "set-100");
  EXPECT_EQ(report.bad[0].error.code, ErrorCode::kDataCorrupt);
  EXPECT_EQ(report.bad[1].error.code, ErrorCode::kNotFound);
  EXPECT_EQ(read_back(dir_.path()).size(), 1U);
}

TEST_F(ChooseAndRestore, NeverSilentlyFromZero) {
  for (auto& [id, contents] : stored_)
    contents["model"] += "x";
  manifests_.erase("set-20");
  const RestoreReport report = run();
  EXPECT_FALSE(report.restored);
  EXPECT_EQ(report.bad.size(), 3U);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code, ErrorCode::kDataCorrupt);
  EXPECT_THAT(report.error->message, HasSubstr("none of the 3"));
}

TEST_F(ChooseAndRestore, AnOutageDoesNotThrowTheJobBack) {
  down_ = true;
  const RestoreReport report = run();
  EXPECT_FALSE(report.restored);
  EXPECT_THAT(report.bad, IsEmpty());
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code, ErrorCode::kUnavailable);
}

TEST_F(ChooseAndRestore, AManifestOfAnotherStepIsBad) {
  manifests_["set-100"] = manifests_["set-20"];
  const RestoreReport report = run();
  ASSERT_TRUE(report.restored);
  EXPECT_EQ(report.restored->step, 20);
  EXPECT_EQ(report.bad.size(), 1U);
}

TEST_F(ChooseAndRestore, WithoutCandidatesThereIsNothingToReport) {
  candidates_.clear();
  const RestoreReport report = run();
  EXPECT_FALSE(report.restored);
  EXPECT_FALSE(report.error);
}

}  // namespace
}  // namespace loam::checkpoint
