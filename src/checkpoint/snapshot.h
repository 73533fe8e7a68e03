// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/manifest.h"
#include "checkpoint/unit.h"

namespace loam::checkpoint {

enum class SnapshotMethod { kReflink, kHardLink, kCopy };  // from best to costliest

struct SnapshotOptions {
  // The first method to try; the costlier ones follow where it cannot be done.
  SnapshotMethod method = SnapshotMethod::kReflink;
};

// A complete unit set aside in a directory of ours, so that the program may delete or rename its
// own files at once. Taking one reads no file content, but where the file system can neither share
// blocks nor link (or the staging directory is on another one), where it copies.
//
// A reflink or a copy is ours alone. A hard link shares the file with the program: its inode, size
// and times are noted after linking and compared after hashing, so that a program which writes into
// a finished checkpoint is noticed (kConflict) and nothing of it is uploaded. What cannot be
// noticed is a write through a mapping whose page was dirty before the snapshot, or one whose times
// the program sets back.
//
// A unit that the program is deleting is refused, as long as the deletion began after the scan that
// found the unit; one that the scan met half deleted looks like any other.
//
// Symbolic links in a unit: one to a regular file inside the same unit is staged as a file of that
// content; any other (outside, dangling, to a directory) is refused with kInvalidArgument, as is a
// unit without files. Empty directories, sockets and pipes are left out.
//
// One thread at a time. Nothing is removed by destruction; call discard.
class Snapshot {
 public:
  // `directory` is made, and must not exist (kAlreadyExists) but for its parent. kConflict if the
  // unit is not the one that the scan saw, or vanished or changed meanwhile: scan again. After any
  // error `directory` is gone.
  static Result<Snapshot> take(const Unit& unit, UnitKind kind, const std::string& directory,
                               const SnapshotOptions& options = {});

  // Reads every file once (twice if the program unlinks it meanwhile) and describes the set. On
  // kConflict or any other error the directory is gone. `progress` is called about every MiB with
  // the bytes since the last call; an error from it stops the work.
  using Progress = std::function<Status(std::int64_t bytes)>;
  Result<SetManifest> hash(const Progress& progress = nullptr);

  // kConflict if a staged file was written since hash; for use after an upload. Cheap: no content
  // is read.
  Status check_unchanged() const;
  // Where the file `path` of the manifest lies.
  std::string path_of(const std::string& path) const { return directory_ + "/" + path; }
  const Unit& unit() const { return unit_; }
  const std::string& directory() const { return directory_; }
  // The costliest that was needed.
  SnapshotMethod method() const { return method_; }
  // Removes the directory. The snapshot is of no use afterwards.
  Status discard();

 private:
  struct Stamp {
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct File {
    std::string path;    // in the manifest
    std::string source;  // absolute; only while staging
    unsigned mode = 0;
    Stamp stamp;  // of the staged file
  };

  Snapshot(Unit unit, UnitKind kind, std::string directory, SnapshotMethod method)
      : unit_(std::move(unit)), kind_(kind), directory_(std::move(directory)), method_(method) {}

  static Result<Stamp> stamp_of(const std::string& path);
  static Result<Stamp> stamp_of_fd(int fd, const std::string& path);
  // Takes the lists of the unit's files; without stamps.
  Result<std::vector<File>> list_files() const;
  Status resolve_link(const std::string& link, std::vector<File>& files) const;
  Status check_root() const;
  Status stage();
  Status stage_file(File& file);
  Result<bool> stage_by_link(File& file, const Stamp& source);
  Result<bool> stage_by_content(File& file, int from, SnapshotMethod method);
  Result<ManifestFile> hash_file(File& file, std::span<std::byte> buffer, const Progress& progress);

  Unit unit_;
  UnitKind kind_;
  std::string directory_;
  SnapshotMethod method_;
  std::vector<File> files_;
};

}  // namespace loam::checkpoint
