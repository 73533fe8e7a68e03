// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/restore.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <set>

#include "base/encoding.h"
#include "base/fail_point.h"
#include "base/log.h"
#include "base/units.h"
#include "io/crc32c.h"
#include "io/file.h"

namespace loam::checkpoint {

namespace {

// Up to so many files each is synced by itself; above, the whole file system once, which is faster.
constexpr std::size_t kMaxSingleSyncs = 64;

// Writes one file and compares it with the manifest block by block.
class VerifyingWriter {
 public:
  static Result<VerifyingWriter> open(const ManifestFile& file, const std::string& path) {
    VerifyingWriter writer(file, TRY(io::parse_checksums(file.crc)));
    writer.fd_ = TRY(io::open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    return writer;
  }

  Status write(std::span<const std::byte> bytes) {
    if (static_cast<std::int64_t>(bytes.size()) > file_->size - length_) {
      return corrupt(fmt::format("is longer than its {} bytes", file_->size));
    }
    while (!bytes.empty()) {
      const std::int64_t room = kBlockBytes - length_ % kBlockBytes;
      const std::size_t n = std::min(bytes.size(), static_cast<std::size_t>(room));
      TRY_VOID(io::write_all(fd_.get(), bytes.first(n)));
      crc_ = io::crc32c(bytes.first(n), crc_);
      length_ += static_cast<std::int64_t>(n);
      bytes = bytes.subspan(n);
      if (length_ % kBlockBytes == 0 || length_ == file_->size) TRY_VOID(end_block());
    }
    return {};
  }

  Status finish(bool sync) {
    if (length_ != file_->size) {
      return corrupt(fmt::format("ends after {} of its {} bytes", length_, file_->size));
    }
    if (::fchmod(fd_.get(), file_->mode) != 0) {
      return fail(io::error_from_errno(errno, "chmod " + file_->path));
    }
    return sync ? io::sync_file(fd_.get(), file_->path) : Status{};
  }

 private:
  VerifyingWriter(const ManifestFile& file, std::vector<std::uint32_t> expected)
      : file_(&file), expected_(std::move(expected)) {}

  Status end_block() {
    const auto block = static_cast<std::size_t>((length_ - 1) / kBlockBytes);
    if (crc_ != expected_.at(block)) {
      return corrupt(
          fmt::format("block {} has checksum {:08x}, not {:08x}", block, crc_, expected_[block]));
    }
    crc_ = 0;
    return {};
  }

  tl::unexpected<Error> corrupt(const std::string& what) const {
    return fail(ErrorCode::kDataCorrupt,
                fmt::format("checkpoint file '{}': {}", printable(file_->path), what));
  }

  const ManifestFile* file_;
  std::vector<std::uint32_t> expected_;
  io::Fd fd_;
  std::int64_t length_ = 0;
  std::uint32_t crc_ = 0;
};

Status write_file(const ManifestFile& file, std::size_t index, const FetchFile& fetch,
                  const std::string& path, bool sync) {
  VerifyingWriter writer = TRY(VerifyingWriter::open(file, path));
  if (file.size > 0) {
    // What the writer said counts, whatever the fetch made of it.
    Status written;
    const Status fetched = fetch(index, [&](std::span<const std::byte> bytes) -> Status {
      if (written) written = writer.write(bytes);
      return written;
    });
    TRY_VOID(written);
    TRY_VOID(fetched);
  }
  return writer.finish(sync);
}

Status sync_all(const SetManifest& manifest, const std::string& temporary) {
  if (manifest.files.size() > kMaxSingleSyncs) {
    const io::Fd fd = TRY(io::open_file(temporary, O_RDONLY));
    if (::syncfs(fd.get()) != 0) return fail(io::error_from_errno(errno, "sync " + temporary));
    return {};
  }
  if (manifest.unit == UnitKind::kFile) return {};
  std::set<std::string> directories = {temporary};
  for (const ManifestFile& file : manifest.files) {
    for (std::size_t slash = file.path.find('/'); slash != std::string::npos;
         slash = file.path.find('/', slash + 1)) {
      directories.insert(temporary + "/" + file.path.substr(0, slash));
    }
  }
  for (const std::string& directory : directories)
    TRY_VOID(io::sync_directory(directory));
  return {};
}

Status write_unit(const SetManifest& manifest, const FetchFile& fetch,
                  const std::string& temporary) {
  const bool sync = manifest.files.size() <= kMaxSingleSyncs;
  if (manifest.unit == UnitKind::kFile) {
    return write_file(manifest.files[0], 0, fetch, temporary, sync);
  }
  TRY_VOID(io::make_directories(temporary));
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    const std::string path = temporary + "/" + manifest.files[i].path;
    TRY_VOID(io::make_directories(path.substr(0, path.rfind('/'))));
    TRY_VOID(write_file(manifest.files[i], i, fetch, path, sync));
  }
  return sync_all(manifest, temporary);
}

// Puts `from` where `to` is, whatever lies there; that is removed.
Status replace(const std::string& from, const std::string& to) {
  crash_point();
  struct stat st {};
  const bool exists = ::lstat(to.c_str(), &st) == 0;
  if (exists) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
      crash_point();
      return io::remove_tree(from);
    }
    // A file system that cannot exchange. A kill in between leaves neither, and the restore is done
    // again.
    TRY_VOID(io::remove_tree(to));
  }
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return fail(io::error_from_errno(errno, "rename to " + to));
  }
  crash_point();
  return {};
}

bool means_bad(ErrorCode code) {
  return code == ErrorCode::kDataCorrupt || code == ErrorCode::kNotFound ||
         code == ErrorCode::kInvalidArgument;
}

Result<std::string> restore_candidate(const RestoreCandidate& candidate,
                                      const RestoreSource& source, const std::string& directory) {
  const SetManifest manifest = TRY(source.load_manifest(candidate));
  if (manifest.step != candidate.step) {
    return fail(ErrorCode::kDataCorrupt, fmt::format("its manifest is of step {}", manifest.step));
  }
  const FetchFile fetch = [&](std::size_t index, const ByteSink& sink) {
    return source.fetch(candidate, manifest, index, sink);
  };
  return restore_set(manifest, fetch, directory);
}

}  // namespace

Result<std::string> restore_set(const SetManifest& manifest, const FetchFile& fetch,
                                const std::string& directory) {
  TRY_VOID(check_manifest(manifest));
  const std::string path = directory + "/" + manifest.name;
  const std::string temporary = path + std::string(kRestoreSuffix);
  bool fetch_failed = false;
  const FetchFile watched = [&](std::size_t index, const ByteSink& sink) {
    Status fetched = fetch(index, sink);
    fetch_failed = !fetched;
    return fetched;
  };
  Status done = io::make_directories(directory);
  if (done) done = io::remove_tree(temporary);  // of a restore that was killed
  if (done) done = write_unit(manifest, watched, temporary);
  if (done) done = replace(temporary, path);
  if (done) done = io::sync_directory(directory);
  if (done) return path;

  if (const Status removed = io::remove_tree(temporary); !removed) {
    LOG_WARN("could not remove {}: {}", printable(temporary), removed.error().to_string());
  }
  // A path that is missing on this machine must not read as an object missing in the store.
  Error error = std::move(done).error();
  if (!fetch_failed && error.code != ErrorCode::kDataCorrupt && means_bad(error.code)) {
    error.code = ErrorCode::kInternal;
  }
  return fail(std::move(error));
}

RestoreReport choose_and_restore(std::span<const RestoreCandidate> newest_first,
                                 const RestoreSource& source, const std::string& directory) {
  RestoreReport report;
  for (const RestoreCandidate& candidate : newest_first) {
    Result<std::string> path = restore_candidate(candidate, source, directory);
    if (path) {
      report.restored = candidate;
      report.path = std::move(*path);
      return report;
    }
    if (!means_bad(path.error().code)) {
      report.error = path.error();
      report.error->message = fmt::format("the checkpoint of step {} could not be restored: {}",
                                          candidate.step, path.error().message);
      return report;
    }
    LOG_WARN("the checkpoint set {} of step {} is bad: {}", printable(candidate.id), candidate.step,
             path.error().to_string());
    report.bad.push_back({candidate, std::move(path).error()});
  }
  if (!report.bad.empty()) {
    report.error =
        Error{ErrorCode::kDataCorrupt,
              fmt::format("none of the {} committed checkpoint sets verifies; the newest: "
                          "{}. Not starting from zero",
                          report.bad.size(), report.bad.front().error.message)};
  }
  return report;
}

}  // namespace loam::checkpoint
