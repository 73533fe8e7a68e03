// SPDX-License-Identifier: Apache-2.0
#include "agent/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "io/file.h"

namespace loam::agent {

namespace {

// glibc 2.36 has wrappers, but only from that version on.
int pidfd_open(pid_t pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}
int pidfd_send_signal(int fd, int signal_number) {
  return static_cast<int>(syscall(SYS_pidfd_send_signal, fd, signal_number, nullptr, 0));
}

// The program's name stands in parentheses and may itself hold spaces and parentheses, hence the
// search for the last one.
std::optional<ProcessInfo> parse_stat(pid_t pid, std::string_view text) {
  const std::size_t close = text.rfind(')');
  if (close == std::string_view::npos) return std::nullopt;
  text.remove_prefix(close + 1);
  ProcessInfo info;
  info.pid = pid;
  unsigned long long start = 0;
  const int fields = std::sscanf(
      text.data(), " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu",
      &info.state, &info.parent, &info.group, &info.session, &info.threads, &start);
  if (fields != 6) return std::nullopt;
  info.start_ticks = start;
  return info;
}

struct DirectoryCloser {
  void operator()(DIR* directory) const { closedir(directory); }
};

// Stopped processes cannot fork, so once a whole listing brings nothing new the tree is complete.
// The bound is for a tree that cannot be stopped; killing copes with that as well, only slower.
void freeze(const std::function<std::vector<ProcessInfo>()>& list) {
  constexpr int kMaxRounds = 16;
  std::unordered_set<std::uint64_t> stopped;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool anything_new = false;
    for (const ProcessInfo& process : list()) {
      const std::uint64_t key =
          process.start_ticks * 4'194'304 + static_cast<std::uint64_t>(process.pid);
      if (!stopped.insert(key).second) continue;
      anything_new = true;
      signal_process(process, SIGSTOP);
    }
    if (!anything_new) return;
  }
}

}  // namespace

std::optional<ProcessInfo> read_process(pid_t pid) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const io::Fd file(open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  char text[1024];
  const ssize_t length = read(file.get(), text, sizeof text - 1);
  if (length <= 0) return std::nullopt;
  text[length] = '\0';
  return parse_stat(pid, std::string_view(text, static_cast<std::size_t>(length)));
}

std::vector<ProcessInfo> list_processes() {
  std::vector<ProcessInfo> out;
  const std::unique_ptr<DIR, DirectoryCloser> proc(opendir("/proc"));
  if (!proc) return out;
  while (const dirent* entry = readdir(proc.get())) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    if (const auto info = read_process(pid)) out.push_back(*info);
  }
  return out;
}

std::vector<ProcessInfo> descendants_of(pid_t root, const std::vector<ProcessInfo>& processes) {
  std::unordered_multimap<pid_t, const ProcessInfo*> children;
  for (const ProcessInfo& process : processes) {
    if (!process.is_dead()) children.emplace(process.parent, &process);
  }
  std::vector<ProcessInfo> out;
  std::unordered_set<pid_t> seen{root};
  std::vector<pid_t> level{root};
  // A reused pid could close a circle in a listing that is not a snapshot, hence `seen`.
  for (std::size_t next = 0; next < level.size(); ++next) {
    const auto [first, last] = children.equal_range(level[next]);
    for (auto it = first; it != last; ++it) {
      if (!seen.insert(it->second->pid).second) continue;
      out.push_back(*it->second);
      level.push_back(it->second->pid);
    }
  }
  return out;
}

std::vector<ProcessInfo> descendants_of(pid_t root) {
  return descendants_of(root, list_processes());
}

bool signal_process(const ProcessInfo& process, int signal_number) {
  const io::Fd handle(pidfd_open(process.pid));
  if (!handle) return false;
  // The handle names whoever has the pid now; only the start time says that it is still the same.
  const auto now = read_process(process.pid);
  if (!now || now->start_ticks != process.start_ticks) return false;
  return pidfd_send_signal(handle.get(), signal_number) == 0;
}

std::size_t kill_until_none(const std::function<std::vector<ProcessInfo>()>& list,
                            const std::function<void()>& reap, std::chrono::milliseconds limit) {
  using SteadyClock = std::chrono::steady_clock;
  const auto end = SteadyClock::now() + limit;
  auto pause = std::chrono::milliseconds(1);
  for (;;) {
    freeze(list);
    for (const ProcessInfo& process : list())
      signal_process(process, SIGKILL);
    reap();
    const std::size_t left = list().size();
    if (left == 0 || SteadyClock::now() >= end) {
      reap();
      return left;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(20));
  }
}

Status become_subreaper() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) return {};
  return fail(io::error_from_errno(errno, "become a child subreaper"));
}

}  // namespace loam::agent
