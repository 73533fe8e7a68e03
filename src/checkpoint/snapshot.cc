// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/snapshot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/encoding.h"
#include "base/log.h"
#include "base/units.h"
#include "io/copy.h"
#include "io/crc32c.h"
#include "io/file.h"

namespace loam::checkpoint {

namespace {

// How often a file is read again because its change time moved although nothing else did.
constexpr int kMaxHashTries = 4;

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

tl::unexpected<Error> conflict(const std::string& path, std::string_view what) {
  return fail(ErrorCode::kConflict, fmt::format("the checkpoint {} {}", printable(path), what));
}

// Whatever is missing was there a moment ago.
tl::unexpected<Error> as_conflict(Error error) {
  if (error.code == ErrorCode::kNotFound) {
    error.code = ErrorCode::kConflict;
    error.message = "the checkpoint vanished while it was set aside: " + error.message;
  }
  return fail(std::move(error));
}

Result<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr),
                                                             &std::free);
  if (resolved == nullptr) return fail(io::error_from_errno(errno, "resolve " + path));
  return std::string(resolved.get());
}

void remove_logged(const std::string& directory) {
  if (const Status removed = io::remove_tree(directory); !removed) {
    LOG_WARN("could not remove {}: {}", printable(directory), removed.error().to_string());
  }
}

Result<std::string> hash_content(const std::string& path, std::span<std::byte> buffer,
                                 const Snapshot::Progress& progress) {
  const io::Fd fd = TRY(io::open_file(path, O_RDONLY | O_NOFOLLOW));
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  io::BlockChecksums checksums;
  for (;;) {
    const std::size_t n = TRY(io::read_at(fd.get(), buffer, checksums.length()));
    checksums.update(buffer.first(n));
    if (progress) TRY_VOID(progress(static_cast<std::int64_t>(n)));
    if (n < buffer.size()) break;
  }
  return io::format_checksums(checksums.values());
}

}  // namespace

Result<Snapshot::Stamp> Snapshot::stamp_of_fd(int fd, const std::string& path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return fail(io::error_from_errno(errno, "stat " + path));
  return Stamp{st.st_ino, st.st_size, nanoseconds(st.st_mtim), nanoseconds(st.st_ctim)};
}

Result<Snapshot::Stamp> Snapshot::stamp_of(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return fail(io::error_from_errno(errno, "stat " + path));
  return Stamp{st.st_ino, st.st_size, nanoseconds(st.st_mtim), nanoseconds(st.st_ctim)};
}

Result<Snapshot> Snapshot::take(const Unit& unit, UnitKind kind, const std::string& directory,
                                const SnapshotOptions& options) {
  if (::mkdir(directory.c_str(), 0700) != 0) {
    return fail(io::error_from_errno(errno, "mkdir " + directory));
  }
  Snapshot snapshot(unit, kind, directory, options.method);
  Status staged = snapshot.stage();
  if (!staged) {
    remove_logged(directory);
    // A unit that is half deleted may look wrong in other ways; then its absence is what matters.
    Status same = snapshot.check_root();
    if (!same && staged.error().code == ErrorCode::kInvalidArgument) staged = std::move(same);
    return as_conflict(std::move(staged).error());
  }
  return snapshot;
}

Status Snapshot::stage() {
  TRY_VOID(check_root());
  files_ = TRY(list_files());
  if (unit_.files >= 0 && static_cast<std::int64_t>(files_.size()) != unit_.files) {
    return conflict(unit_.path, "lost or gained files since it was found");
  }
  if (files_.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the checkpoint {} holds no files", printable(unit_.path)));
  }
  for (File& file : files_)
    TRY_VOID(stage_file(file));

  // A deletion that began before the list was complete shows in one of the two: the names, or the
  // time of the directory.
  const std::vector<File> after = TRY(list_files());
  const bool same = std::equal(files_.begin(), files_.end(), after.begin(), after.end(),
                               [](const File& a, const File& b) { return a.path == b.path; });
  if (!same) return conflict(unit_.path, "gained or lost files while it was set aside");
  return check_root();
}

Status Snapshot::check_root() const {
  const Stamp now = TRY(stamp_of(unit_.path));
  if (now.inode == unit_.inode && now.modified_ns == unit_.modified_ns) return {};
  return conflict(unit_.path, "is not the one that was found, or changed since");
}

Result<std::vector<Snapshot::File>> Snapshot::list_files() const {
  std::vector<File> files;
  if (kind_ == UnitKind::kFile) {
    struct stat st {};
    if (::lstat(unit_.path.c_str(), &st) != 0) {
      return fail(io::error_from_errno(errno, "stat " + unit_.path));
    }
    files.push_back({unit_.name, unit_.path, st.st_mode & 0777U, {}});
    return files;
  }
  const io::Tree tree = TRY(io::list_tree(unit_.path, kMaxSetFiles));
  for (const io::FileEntry& file : tree.files) {
    files.push_back({file.path, unit_.path + "/" + file.path, file.mode & 0777U, {}});
  }
  for (const std::string& link : tree.links)
    TRY_VOID(resolve_link(link, files));
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  for (const File& file : files) {
    if (!is_valid_utf8(file.path)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the checkpoint {} holds '{}', whose name is not UTF-8",
                              printable(unit_.path), printable(file.path)));
    }
  }
  return files;
}

Status Snapshot::resolve_link(const std::string& link, std::vector<File>& files) const {
  const std::string path = unit_.path + "/" + link;
  const std::string root = TRY(real_path(unit_.path));
  const Result<std::string> target = real_path(path);
  struct stat st {};
  if (!target || !target->starts_with(root + "/") || ::lstat(target->c_str(), &st) != 0 ||
      !S_ISREG(st.st_mode)) {
    // A link that vanished with its unit is no fault of the program.
    if (::lstat(path.c_str(), &st) != 0) return conflict(path, "vanished while it was set aside");
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the checkpoint holds the symbolic link {}, which does not lead to a "
                            "file inside of it; save files instead",
                            printable(path)));
  }
  files.push_back({link, *target, st.st_mode & 0777U, {}});
  return {};
}

Status Snapshot::stage_file(File& file) {
  const std::size_t slash = file.path.rfind('/');
  if (slash != std::string::npos) {
    TRY_VOID(io::make_directories(path_of(file.path.substr(0, slash)), 0700));
  }
  const io::Fd from = TRY(io::open_file(file.source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  const Stamp before = TRY(stamp_of_fd(from.get(), file.source));
  // What failed for one file is not tried for the next: they share their file systems.
  for (;; method_ = method_ == SnapshotMethod::kReflink ? SnapshotMethod::kHardLink
                                                        : SnapshotMethod::kCopy) {
    const bool staged = method_ == SnapshotMethod::kHardLink
                            ? TRY(stage_by_link(file, before))
                            : TRY(stage_by_content(file, from.get(), method_));
    if (staged && method_ == SnapshotMethod::kHardLink) return {};
    if (staged) break;
  }
  if (TRY(stamp_of_fd(from.get(), file.source)) != before) {
    // Unlinking the source changes its change time too; then the content is whole, but so late that
    // the unit is on its way out, and the list of files that follows would say so anyway.
    return conflict(file.source, "was written while it was set aside");
  }
  return {};
}

Result<bool> Snapshot::stage_by_link(File& file, const Stamp& source) {
  const std::string to = path_of(file.path);
  if (::link(file.source.c_str(), to.c_str()) != 0) {
    // Another file system, one without links, too many links, or a file of another user.
    if (errno == EXDEV || errno == EPERM || errno == EMLINK || errno == EOPNOTSUPP) return false;
    return fail(io::error_from_errno(errno, "link " + file.source));
  }
  file.stamp = TRY(stamp_of(to));
  // Linking itself moves the change time; the others say whether it is the file that was looked at.
  if (file.stamp.inode != source.inode || file.stamp.size != source.size ||
      file.stamp.modified_ns != source.modified_ns) {
    return conflict(file.source, "was replaced or written while it was set aside");
  }
  return true;
}

Result<bool> Snapshot::stage_by_content(File& file, int from, SnapshotMethod method) {
  const std::string to = path_of(file.path);
  {
    const io::Fd fd = TRY(io::open_file(to, O_WRONLY | O_CREAT | O_EXCL, 0600));
    if (method == SnapshotMethod::kReflink) {
      if (!TRY(io::try_reflink(from, fd.get()))) {
        ::unlink(to.c_str());
        return false;
      }
    } else {
      TRY(io::copy_contents(from, fd.get()));
    }
  }
  file.stamp = TRY(stamp_of(to));
  return true;
}

Result<SetManifest> Snapshot::hash(const Progress& progress) {
  SetManifest manifest{unit_.step, kind_, unit_.name, {}};
  // One for all: a fresh MiB for each of thousands of small files would cost more than hashing
  // them.
  std::vector<std::byte> buffer(static_cast<std::size_t>(kMiB));
  for (File& file : files_) {
    Result<ManifestFile> hashed = hash_file(file, buffer, progress);
    if (!hashed) {
      remove_logged(directory_);
      return fail(std::move(hashed).error());
    }
    manifest.files.push_back(std::move(*hashed));
  }
  // A last look at all of them, for writes to one while another was hashed.
  Status valid = check_unchanged();
  if (valid) valid = check_manifest(manifest);
  if (!valid) {
    remove_logged(directory_);
    return fail(std::move(valid).error());
  }
  return manifest;
}

Result<ManifestFile> Snapshot::hash_file(File& file, std::span<std::byte> buffer,
                                         const Progress& progress) {
  const std::string path = path_of(file.path);
  std::optional<std::string> before;
  for (int tries = 0; tries < kMaxHashTries; ++tries) {
    const std::string crc = TRY(hash_content(path, buffer, progress));
    const Stamp now = TRY(stamp_of(path));
    const bool still = now.changed_ns == file.stamp.changed_ns;
    Stamp expected = file.stamp;
    expected.changed_ns = now.changed_ns;
    if (now != expected || (before && *before != crc)) {
      return conflict(path, "was written while it was hashed");
    }
    file.stamp = now;
    // The change time alone moves when the program unlinks its name of a hard-linked file, which it
    // may, but also when times are set back after a write; two equal readings tell.
    if (still || before) return ManifestFile{file.path, now.size, file.mode, crc};
    before = crc;
  }
  return conflict(path, "kept changing while it was hashed");
}

Status Snapshot::check_unchanged() const {
  for (const File& file : files_) {
    Stamp now = TRY(stamp_of(path_of(file.path)));
    now.changed_ns = file.stamp.changed_ns;  // moves when the program unlinks its own name
    if (now != file.stamp)
      return conflict(path_of(file.path), "was written after it was set aside");
  }
  return {};
}

Status Snapshot::discard() {
  return io::remove_tree(directory_);
}

}  // namespace loam::checkpoint
