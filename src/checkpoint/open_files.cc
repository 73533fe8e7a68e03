// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/open_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "base/units.h"
#include "io/file.h"

namespace loam::checkpoint {

namespace {

constexpr std::size_t kMaxFiles = 100'000;

using Identity = std::pair<dev_t, ino_t>;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

void add_identity(const std::string& path, std::set<Identity>& files) {
  struct stat st {};
  if (::stat(path.c_str(), &st) == 0) files.insert({st.st_dev, st.st_ino});
}

Result<std::set<Identity>> identities_of(const std::string& path) {
  std::set<Identity> files;
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return fail(io::error_from_errno(errno, "stat " + path));
  if (!S_ISDIR(st.st_mode)) {
    files.insert({st.st_dev, st.st_ino});
    return files;
  }
  const io::Tree tree = TRY(io::list_tree(path, kMaxFiles));
  for (const io::FileEntry& file : tree.files)
    add_identity(path + "/" + file.path, files);
  for (const std::string& link : tree.links)
    add_identity(path + "/" + link, files);
  return files;
}

bool may_write(const std::string& process, const std::string& fd) {
  // "flags:\t0100001", octal, the access mode in its lowest bits.
  const Result<std::string> info = io::read_file(process + "/fdinfo/" + fd, kMiB);
  if (!info) return false;  // closed meanwhile
  constexpr std::string_view kLabel = "flags:\t";
  const std::size_t at = info->find(kLabel);
  if (at == std::string::npos) return true;
  unsigned flags = 0;
  std::from_chars(info->data() + at + kLabel.size(), info->data() + info->size(), flags, 8);
  return (flags & static_cast<unsigned>(O_ACCMODE)) != O_RDONLY;
}

Result<bool> has_descriptor(const std::string& process, const std::set<Identity>& files) {
  const std::string folder = process + "/fd";
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(folder.c_str()));
  if (directory == nullptr) {
    if (errno == ENOENT || errno == ESRCH) return false;
    return fail(io::error_from_errno(errno, "list " + folder));
  }
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string fd = entry->d_name;
    struct stat st {};
    if (fd == "." || fd == ".." || ::stat((folder + "/" + fd).c_str(), &st) != 0) continue;
    if (files.contains({st.st_dev, st.st_ino}) && may_write(process, fd)) return true;
  }
  return false;
}

Result<bool> has_mapping(const std::string& process, const std::set<Identity>& files) {
  const Result<std::string> maps = io::read_file(process + "/maps", 64 * kMiB);
  if (!maps) {
    if (maps.error().code == ErrorCode::kNotFound) return false;
    return fail(maps.error());
  }
  // "7f0c2e000000-7f0c2e001000 rw-s 00000000 fd:01 1234   /path"
  std::istringstream lines(*maps);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string range;
    std::string rights;
    std::string offset;
    unsigned major_number = 0;
    unsigned minor_number = 0;
    char colon = 0;
    ino_t inode = 0;
    fields >> range >> rights >> offset >> std::hex >> major_number >> colon >> minor_number >>
        std::dec >> inode;
    if (!fields || rights.size() < 4 || rights[1] != 'w' || rights[3] != 's') continue;
    if (files.contains({makedev(major_number, minor_number), inode})) return true;
  }
  return false;
}

}  // namespace

Result<bool> is_open_for_writing(const std::string& path, std::span<const pid_t> pids) {
  const std::set<Identity> files = TRY(identities_of(path));
  for (const pid_t pid : pids) {
    const std::string process = fmt::format("/proc/{}", pid);
    if (TRY(has_descriptor(process, files)) || TRY(has_mapping(process, files))) return true;
  }
  return false;
}

}  // namespace loam::checkpoint
