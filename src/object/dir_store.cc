// SPDX-License-Identifier: Apache-2.0
#include "object/dir_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/encoding.h"
#include "base/fail_point.h"
#include "base/log.h"
#include "base/random.h"
#include "base/units.h"
#include "io/copy.h"
#include "object/dir_list.h"

namespace loam::object {

namespace {

constexpr std::int64_t kStaleTempSeconds = 24 * 60 * 60;
// Escapes triple a key of 1024 bytes at worst, and cutting adds a little; the rest of PATH_MAX is
// for the root.
constexpr std::size_t kMaxRootBytes = PATH_MAX - 3 * kMaxKeyBytes - 200;

tl::unexpected<Error> not_found(const std::string& key) {
  return fail(ErrorCode::kNotFound, fmt::format("there is no object '{}'", printable(key)));
}

// Holds the store's lock; released by the destructor, or by the kernel if the process dies.
class StoreLock {
 public:
  static Result<StoreLock> take(std::mutex& mutex, int fd) {
    std::unique_lock<std::mutex> held(mutex);
    while (::flock(fd, LOCK_EX) != 0) {
      if (errno != EINTR) return fail(io::error_from_errno(errno, "lock the store"));
    }
    return StoreLock(std::move(held), fd);
  }
  StoreLock(StoreLock&& other) noexcept
      : held_(std::move(other.held_)), fd_(std::exchange(other.fd_, -1)) {}
  StoreLock& operator=(StoreLock&&) = delete;
  ~StoreLock() {
    if (fd_ >= 0) ::flock(fd_, LOCK_UN);
  }

 private:
  StoreLock(std::unique_lock<std::mutex> held, int fd) : held_(std::move(held)), fd_(fd) {}

  std::unique_lock<std::mutex> held_;
  int fd_;
};

// A modification time that no other object of this process has, so that an ETag made of it never
// returns although inode numbers do and the kernel's own stamps are some milliseconds coarse.
Status stamp(int fd) {
  static std::atomic<std::int64_t> last{0};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::int64_t ns = now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  std::int64_t before = last.load();
  do {
    if (ns <= before) ns = before + 1;
  } while (!last.compare_exchange_weak(before, ns));
  const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
  const timespec times[2] = {time, time};
  if (::futimens(fd, times) != 0) return fail(io::error_from_errno(errno, "set times"));
  return {};
}

Status copy_from_source(int fd, const std::string& key, const Source& source,
                        std::int64_t expected) {
  const std::int64_t room = expected < 0 ? kMiB : std::clamp<std::int64_t>(expected, 1, kMiB);
  std::vector<std::byte> buffer(static_cast<std::size_t>(room));
  std::int64_t length = 0;
  for (;;) {
    const std::size_t n = TRY(source(buffer));
    CHECK(n <= buffer.size());
    length += static_cast<std::int64_t>(n);
    if (n == 0 || (expected >= 0 && length > expected)) break;
    TRY_VOID(io::write_all(fd, std::span(buffer).first(n)));
  }
  if (expected >= 0 && length != expected) {
    return fail(ErrorCode::kDataCorrupt,
                fmt::format("'{}' was to have {} bytes, and {} {} came", printable(key), expected,
                            length > expected ? "at least" : "only", length));
  }
  return {};
}

void remove_stale_temps(const std::string& folder) {
  DIR* directory = ::opendir(folder.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string name = entry->d_name;
    struct stat st {};
    // Wall time may be wrong; at worst a file stays, or a put that lasts a day fails.
    if (!name.starts_with("put-") || ::lstat((folder + "/" + name).c_str(), &st) != 0) continue;
    if (st.st_mtim.tv_sec + kStaleTempSeconds < ::time(nullptr)) {
      LOG_INFO("removing {}/{}, left by a put that died", folder, printable(name));
      ::unlink((folder + "/" + name).c_str());
    }
  }
  ::closedir(directory);
}

int rename_no_replace(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  // A file system without the flag; a link refuses an existing name too.
  if (::link(from.c_str(), to.c_str()) != 0) return -1;
  ::unlink(from.c_str());
  return 0;
}

class FileReader final : public ObjectReader {
 public:
  FileReader(io::Fd fd, ObjectInfo info, ByteRange range)
      : fd_(std::move(fd)), info_(std::move(info)), range_(range) {}

  Result<std::size_t> read(std::span<std::byte> out) override {
    const auto rest = static_cast<std::size_t>(range_.length - done_);
    if (rest < out.size()) out = out.first(rest);
    if (out.empty()) return std::size_t{0};
    const std::size_t n = TRY(io::read_at(fd_.get(), out, range_.offset + done_));
    if (n < out.size()) {
      return fail(ErrorCode::kUnavailable,
                  fmt::format("'{}' became shorter while it was read", printable(info_.key)));
    }
    done_ += static_cast<std::int64_t>(n);
    return n;
  }
  const ObjectInfo& info() const override { return info_; }
  std::int64_t length() const override { return range_.length; }

 private:
  io::Fd fd_;
  ObjectInfo info_;
  ByteRange range_;
  std::int64_t done_ = 0;
};

struct OpenObject {
  io::Fd fd;
  ObjectInfo info;
};

Result<OpenObject> open_object(const std::string& directory, const std::string& file,
                               const std::string& key) {
  // The second try is for a file that got or lost its suffix between the look and the open.
  for (int tries = 0; tries < 2; ++tries) {
    const std::optional<FoundObject> found = TRY(find_object(directory, file));
    if (!found) break;
    Result<io::Fd> fd = io::open_file(found->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!fd && fd.error().code == ErrorCode::kNotFound) continue;
    if (!fd) return fail(fd.error());
    struct stat st {};
    if (::fstat(fd->get(), &st) != 0) return fail(io::error_from_errno(errno, "stat"));
    if (!S_ISREG(st.st_mode)) continue;
    return OpenObject{std::move(*fd), info_from_stat(key, st)};
  }
  return not_found(key);
}

}  // namespace

// Removes its file on destruction unless it was renamed away.
struct DirStore::TempFile {
  std::string path;
  io::Fd fd;
  bool published = false;

  TempFile(std::string p, io::Fd f) : path(std::move(p)), fd(std::move(f)) {}
  TempFile(TempFile&& other) noexcept
      : path(std::move(other.path)), fd(std::move(other.fd)), published(other.published) {
    other.published = true;
  }
  TempFile& operator=(TempFile&&) = delete;
  ~TempFile() {
    if (!published) ::unlink(path.c_str());
  }
};

bool is_dir_store(const std::string& path) {
  return ::access((path + "/" + std::string(kTempFolder) + "/lock").c_str(), F_OK) == 0;
}

Result<std::unique_ptr<DirStore>> DirStore::open(const std::string& path) {
  const std::string root =
      path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
  if (root.empty() || root.size() > kMaxRootBytes) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("the path of a store has 1 to {} bytes, not {}", kMaxRootBytes, root.size()));
  }
  const std::string temp = root + "/" + std::string(kTempFolder);
  TRY_VOID(io::make_directories_durable(temp));
  remove_stale_temps(temp);
  io::Fd lock = TRY(io::open_file(temp + "/lock", O_RDWR | O_CREAT, 0600));
  return std::unique_ptr<DirStore>(new DirStore(root, std::move(lock)));
}

std::string DirStore::absolute(const std::string& relative) const {
  return relative.empty() ? root_ : root_ + "/" + relative;
}

Result<DirStore::TempFile> DirStore::make_temp() const {
  SystemRandom random;
  std::string path = fmt::format("{}/{}/put-{}", root_, kTempFolder, random_token(random, 12));
  io::Fd fd = TRY(io::open_file(path, O_WRONLY | O_CREAT | O_EXCL));
  return TempFile(std::move(path), std::move(fd));
}

Result<ObjectInfo> DirStore::put(const std::string& key, const Source& source,
                                 const PutOptions& options) {
  TRY_VOID(check_put(key, options));
  TempFile temp = TRY(make_temp());
  TRY_VOID(copy_from_source(temp.fd.get(), key, source, options.length));
  return publish(temp, key, options);
}

Result<ObjectInfo> DirStore::publish(TempFile& temp, const std::string& key,
                                     const PutOptions& options) {
  TRY_VOID(stamp(temp.fd.get()));
  TRY_VOID(io::sync_file(temp.fd.get(), temp.path));
  struct stat st {};
  if (::fstat(temp.fd.get(), &st) != 0) return fail(io::error_from_errno(errno, "stat"));

  const KeyPath path = path_of_key(key);
  io::Fd directory;
  {
    const StoreLock lock = TRY(StoreLock::take(mutex_, lock_file_.get()));
    const std::string target = TRY(choose_target(path, options));
    TRY_VOID(make_parents(path));
    crash_point();
    const int renamed = options.if_absent ? rename_no_replace(temp.path, target)
                                          : ::rename(temp.path.c_str(), target.c_str());
    if (renamed != 0 && options.if_absent && errno == EEXIST) {
      return fail(ErrorCode::kPreconditionFailed,
                  fmt::format("the object '{}' exists already", printable(key)));
    }
    if (renamed != 0) return fail(io::error_from_errno(errno, "rename to " + target));
    temp.published = true;
    crash_point();
    // Opened under the lock: a remove right after it may take the directory away again.
    directory = TRY(io::open_file(absolute(path.directory()), O_RDONLY | O_DIRECTORY));
  }
  TRY_VOID(io::sync_file(directory.get(), path.directory()));
  return info_from_stat(key, st);
}

Result<std::string> DirStore::choose_target(const KeyPath& path, const PutOptions& options) {
  const std::string directory = absolute(path.directory());
  const std::optional<FoundObject> found = TRY(find_object(directory, path.file));
  if (options.if_absent && found) {
    return fail(ErrorCode::kPreconditionFailed,
                fmt::format("the object at {} exists already", printable(found->path)));
  }
  if (!options.if_match.empty() &&
      (!found || info_from_stat("", found->st).etag != options.if_match)) {
    return fail(ErrorCode::kPreconditionFailed,
                fmt::format("the object at {}/{} is not the version {}", printable(directory),
                            printable(path.file), printable(options.if_match)));
  }
  if (found) return found->path;
  const std::string plain = directory + "/" + path.file;
  struct stat st {};
  if (::lstat(plain.c_str(), &st) != 0) return plain;  // rename says what is wrong, if anything
  if (S_ISDIR(st.st_mode)) return plain + std::string(kObjectSuffix);
  return fail(ErrorCode::kConflict,
              fmt::format("{} is neither an object nor a directory; move it away from the store",
                          printable(plain)));
}

Status DirStore::make_parents(const KeyPath& path) {
  struct stat st {};
  if (::stat(absolute(path.directory()).c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return {};
  std::string parent = root_;
  for (const std::string& name : path.directories) {
    const std::string directory = parent + "/" + name;
    if (::lstat(directory.c_str(), &st) == 0 && S_ISREG(st.st_mode)) {
      // The object of that name steps aside. Readers look at both names, in this order.
      const std::string aside = directory + std::string(kObjectSuffix);
      crash_point();
      if (::rename(directory.c_str(), aside.c_str()) != 0) {
        return fail(io::error_from_errno(errno, "rename to " + aside));
      }
      crash_point();
    }
    // Synced under the lock, so that nobody builds on a directory that could still be lost.
    TRY_VOID(io::make_directories_durable(directory));
    parent = directory;
  }
  return {};
}

Result<std::unique_ptr<ObjectReader>> DirStore::get(const std::string& key, ByteRange range,
                                                    const std::string& if_match) {
  TRY_VOID(check_key(key));
  const KeyPath path = path_of_key(key);
  OpenObject object = TRY(open_object(absolute(path.directory()), path.file, key));
  if (!if_match.empty() && object.info.etag != if_match) {
    return fail(ErrorCode::kPreconditionFailed,
                fmt::format("the object '{}' is version {} now, not {}", printable(key),
                            object.info.etag, printable(if_match)));
  }
  const ByteRange resolved = TRY(resolve_range(range, object.info.size));
  return std::unique_ptr<ObjectReader>(
      new FileReader(std::move(object.fd), std::move(object.info), resolved));
}

Result<ObjectInfo> DirStore::head(const std::string& key) {
  TRY_VOID(check_key(key));
  const KeyPath path = path_of_key(key);
  const std::optional<FoundObject> found = TRY(find_object(absolute(path.directory()), path.file));
  if (!found) return not_found(key);
  return info_from_stat(key, found->st);
}

Result<ListPage> DirStore::list(const std::string& prefix, const ListOptions& options) {
  TRY_VOID(check_list(prefix, options));
  return list_directory(root_, prefix, options);
}

Status DirStore::remove(const std::string& key) {
  TRY_VOID(check_key(key));
  const KeyPath path = path_of_key(key);
  const std::string directory = absolute(path.directory());
  const StoreLock lock = TRY(StoreLock::take(mutex_, lock_file_.get()));
  // The suffixed one first: should both be there, the plain one is the newer and must not be
  // outlived by the older.
  for (const std::string_view suffix : {kObjectSuffix, std::string_view()}) {
    const std::string file = (directory + "/" + path.file).append(suffix);
    struct stat st {};
    if (::lstat(file.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) continue;
    crash_point();
    if (::unlink(file.c_str()) != 0 && errno != ENOENT) {
      return fail(io::error_from_errno(errno, "remove " + file));
    }
    crash_point();
  }
  return remove_empty_parents(path);
}

Status DirStore::remove_empty_parents(const KeyPath& path) {
  KeyPath left = path;
  while (!left.directories.empty() && ::rmdir(absolute(left.directory()).c_str()) == 0) {
    left.directories.pop_back();
  }
  // What is gone with its directory needs no sync of its own. Where the object was missing together
  // with its directories there is nothing to sync.
  const Status synced = io::sync_directory(absolute(left.directory()));
  if (!synced && synced.error().code == ErrorCode::kNotFound) return {};
  return synced;
}

Result<ObjectInfo> DirStore::copy(const std::string& from, const std::string& to) {
  TRY_VOID(check_key(from));
  TRY_VOID(check_key(to));
  const KeyPath path = path_of_key(from);
  const OpenObject object = TRY(open_object(absolute(path.directory()), path.file, from));
  TempFile temp = TRY(make_temp());
  if (!TRY(io::try_reflink(object.fd.get(), temp.fd.get()))) {
    const std::int64_t copied = TRY(io::copy_contents(object.fd.get(), temp.fd.get()));
    if (copied != object.info.size) {
      return fail(ErrorCode::kUnavailable,
                  fmt::format("'{}' changed its length while it was copied", printable(from)));
    }
  }
  return publish(temp, to, {});
}

}  // namespace loam::object
