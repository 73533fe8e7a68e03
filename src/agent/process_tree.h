// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"

namespace loam::agent {

// One line of /proc/<pid>/stat (proc(5)). A pid alone may be reused; a pid with its start time
// names one process for as long as the machine is up.
struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  char state = '?';
  int threads = 0;
  std::uint64_t start_ticks = 0;

  // A first thread that has ended shows as a zombie even while others of its process run on.
  bool is_dead() const { return (state == 'Z' && threads <= 1) || state == 'X' || state == 'x'; }
};

// Nothing when there is no such process.
std::optional<ProcessInfo> read_process(pid_t pid);
// All processes of this pid namespace, zombies included. Not a snapshot: one that is born or dies
// meanwhile may be missed or listed.
std::vector<ProcessInfo> list_processes();
// Those of `processes` below `root`, parents before their children, without `root` and zombies.
std::vector<ProcessInfo> descendants_of(pid_t root, const std::vector<ProcessInfo>& processes);
std::vector<ProcessInfo> descendants_of(pid_t root);

// Sends a signal to exactly this process; false when it is gone or may not be signalled.
bool signal_process(const ProcessInfo& process, int signal_number);

// Stops everything that `list` names, so that it cannot fork away, then kills it, and again until
// `list` is empty or `limit` has passed. `reap` runs in each round: a dead process whose parent is
// the caller stays a zombie until then. Returns how many were left.
std::size_t kill_until_none(const std::function<std::vector<ProcessInfo>()>& list,
                            const std::function<void()>& reap, std::chrono::milliseconds limit);

// From now on, orphaned descendants become children of this process instead of init's.
Status become_subreaper();

}  // namespace loam::agent
