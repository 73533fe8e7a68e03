// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/encoding.h"
#include "base/path.h"
#include "io/file.h"

namespace loam::io {

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// The names in an open directory but "." and "..". Takes a duplicate, so `fd` stays open.
Result<std::vector<std::string>> names_in(int fd, const std::string& what) {
  Fd duplicate(::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!duplicate) return fail(error_from_errno(errno, "open " + what));
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(duplicate.get()));
  if (directory == nullptr) return fail(error_from_errno(errno, "open " + what));
  duplicate.release();
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return fail(error_from_errno(errno, "list " + what));
  return names;
}

Status too_deep(const std::string& what) {
  return fail(ErrorCode::kTooLarge, fmt::format("{} is nested more than {} directories deep",
                                                printable(what), kMaxTreeDepth));
}

Result<Fd> open_directory_at(int parent, const std::string& name, const std::string& what) {
  Fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == EACCES) {
    // Our own directory without read permission; harmless to try if it is not ours.
    ::fchmodat(parent, name.c_str(), 0700, 0);
    fd = Fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!fd) return fail(error_from_errno(errno, "open " + what));
  return fd;
}

Status remove_children(int fd, dev_t device, const std::string& what, std::size_t depth);

Status remove_entry(int parent, const std::string& name, dev_t device, const std::string& what,
                    std::size_t depth) {
  struct stat st {};
  if (::fstatat(parent, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return fail(error_from_errno(errno, "stat " + what));
  }
  if (st.st_dev != device) {
    return fail(ErrorCode::kConflict,
                fmt::format("{} is another file system; unmount it first", printable(what)));
  }
  if (S_ISDIR(st.st_mode)) {
    const Fd child = TRY(open_directory_at(parent, name, what));
    TRY_VOID(remove_children(child.get(), device, what, depth + 1));
  }
  if (::unlinkat(parent, name.c_str(), S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) != 0 &&
      errno != ENOENT) {
    return fail(error_from_errno(errno, "remove " + what));
  }
  return {};
}

Status remove_children(int fd, dev_t device, const std::string& what, std::size_t depth) {
  if (depth > kMaxTreeDepth) return too_deep(what);
  struct stat st {};
  if (::fstat(fd, &st) != 0) return fail(error_from_errno(errno, "stat " + what));
  if ((st.st_mode & 0700) != 0700) ::fchmod(fd, 0700);
  const std::vector<std::string> names = TRY(names_in(fd, what));
  for (const std::string& name : names) {
    TRY_VOID(remove_entry(fd, name, device, what + "/" + name, depth));
  }
  return {};
}

class TreeWalk {
 public:
  TreeWalk(std::string root, std::size_t max_files)
      : root_(std::move(root)), max_files_(max_files) {}

  Status visit(int fd, const std::string& prefix, std::size_t depth) {
    if (depth > kMaxTreeDepth) return too_deep(root_ + "/" + prefix);
    const std::vector<std::string> names = TRY(names_in(fd, root_ + "/" + prefix));
    for (const std::string& name : names) {
      TRY_VOID(visit_entry(fd, prefix, name, depth));
    }
    return {};
  }

  Tree finish() {
    std::sort(tree_.files.begin(), tree_.files.end(),
              [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; });
    std::sort(tree_.links.begin(), tree_.links.end());
    return std::move(tree_);
  }

 private:
  Status visit_entry(int fd, const std::string& prefix, const std::string& name,
                     std::size_t depth) {
    const std::string path = prefix + name;
    struct stat st {};
    if (::fstatat(fd, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      return fail(error_from_errno(errno, "stat " + root_ + "/" + path));
    }
    if (S_ISDIR(st.st_mode)) {
      const Fd child(::openat(fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!child) return fail(error_from_errno(errno, "open " + root_ + "/" + path));
      return visit(child.get(), path + "/", depth + 1);
    }
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) return {};
    if (tree_.files.size() + tree_.links.size() >= max_files_) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format("{} holds more than {} files", printable(root_), max_files_));
    }
    if (S_ISREG(st.st_mode)) {
      tree_.files.push_back({path, st.st_size, st.st_mode & 07777U});
    } else {
      tree_.links.push_back(path);
    }
    return {};
  }

  std::string root_;
  std::size_t max_files_;
  Tree tree_;
};

std::string parent_of(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  const std::size_t slash = path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status make_one(const std::string& path, unsigned mode, bool durable) {
  if (::mkdir(path.c_str(), mode) == 0) {
    return durable ? sync_directory(parent_of(path)) : Status{};
  }
  const int error = errno;
  struct stat st {};
  if (::stat(path.c_str(), &st) == 0) {
    if (S_ISDIR(st.st_mode)) return {};
    return fail(error_from_errno(ENOTDIR, "mkdir " + path));
  }
  return fail(error_from_errno(error, "mkdir " + path));
}

Status make_all(const std::string& path, unsigned mode, bool durable) {
  struct stat st {};
  if (::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return {};
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    TRY_VOID(make_one(path.substr(0, end), mode, durable));
    if (end == std::string::npos || end + 1 >= path.size()) return {};
  }
}

}  // namespace

Status make_directories(const std::string& path, unsigned mode) {
  return make_all(path, mode, false);
}

Status make_directories_durable(const std::string& path, unsigned mode) {
  return make_all(path, mode, true);
}

Status remove_tree(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return fail(error_from_errno(errno, "stat " + path));
  }
  return remove_entry(AT_FDCWD, path, st.st_dev, path, 0);
}

Result<Tree> list_tree(const std::string& root, std::size_t max_files) {
  const Fd fd = TRY(open_file(root, O_RDONLY | O_DIRECTORY));
  TreeWalk walk(root, max_files);
  TRY_VOID(walk.visit(fd.get(), "", 0));
  return walk.finish();
}

Status check_relative_path(std::string_view path) {
  const PathFault fault = path_fault(path, {});
  if (fault == PathFault::kNone) return {};
  return fail(ErrorCode::kInvalidArgument,
              fault == PathFault::kAbsolute
                  ? fmt::format("the path '{}' must be relative", printable(path.substr(0, 256)))
                  : fmt::format("the path '{}' {}", printable(path.substr(0, 256)),
                                path_fault_text(fault)));
}

}  // namespace loam::io
