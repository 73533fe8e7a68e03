// SPDX-License-Identifier: Apache-2.0
#include "agent/attempt_cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/log.h"
#include "io/file.h"

namespace loam::agent {

namespace {

// The line "0::<path>" of /proc/self/cgroup is the place in the version 2 hierarchy (cgroups(7)).
std::optional<std::string> own_path() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return std::nullopt;
}

struct Mount {
  std::string root;
  std::string point;
};

// /proc/self/mountinfo: id, parent, device, root, mount point, options..., "-", type, ...
// (proc(5)).
std::optional<Mount> cgroup2_mount() {
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string id, parent, device;
    Mount mount;
    if (fields >> id >> parent >> device >> mount.root >> mount.point) return mount;
  }
  return std::nullopt;
}

std::optional<std::string> own_directory() {
  const auto path = own_path();
  const auto mount = cgroup2_mount();
  if (!path || !mount) return std::nullopt;
  std::string_view below = *path;
  if (mount->root != "/") {
    // A container may see only a part of the hierarchy.
    if (!below.starts_with(mount->root)) return std::nullopt;
    below.remove_prefix(mount->root.size());
  }
  std::string directory = mount->point + std::string(below);
  while (directory.ends_with('/'))
    directory.pop_back();
  return directory;
}

bool write_text(const std::string& path, std::string_view text) {
  const io::Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

AttemptCgroup AttemptCgroup::create(std::string_view name) {
  const auto parent = own_directory();
  if (!parent || name.empty()) return {};
  std::string path = fmt::format("{}/{}", *parent, name);
  if (mkdir(path.c_str(), 0755) != 0) {
    LOG_DEBUG("no control group for this attempt: mkdir {}: {}", path, std::strerror(errno));
    return {};
  }
  return AttemptCgroup(std::move(path));
}

AttemptCgroup AttemptCgroup::find(std::string_view name) {
  const auto parent = own_directory();
  if (!parent || name.empty()) return {};
  std::string path = fmt::format("{}/{}", *parent, name);
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {};
  return AttemptCgroup(std::move(path));
}

void AttemptCgroup::join() const {
  if (active()) write_text(path_ + "/cgroup.procs", "0");
}

void AttemptCgroup::kill_all() const {
  // Linux before 5.14 has no such file; the walk through /proc does the work there.
  if (active()) write_text(path_ + "/cgroup.kill", "1");
}

std::optional<bool> AttemptCgroup::oom_killed() const {
  if (!active()) return std::nullopt;
  std::ifstream file(path_ + "/memory.events");
  std::string key;
  for (long long value = 0; file >> key >> value;) {
    if (key == "oom_kill") return value > 0;
  }
  return std::nullopt;
}

void AttemptCgroup::remove() {
  if (!active()) return;
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    if (rmdir(path_.c_str()) == 0 || errno != EBUSY) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  path_.clear();
}

}  // namespace loam::agent
