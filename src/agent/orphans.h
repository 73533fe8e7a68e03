// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>

#include "agent/process_tree.h"
#include "base/result.h"

namespace loam::agent {

// The watchdogs of this process, and what they leave behind when they are killed.
//
// When a watchdog dies, everything below it becomes a child of the agent, which is a subreaper.
// Such an orphan is told from the agent's own children by its session: a watchdog starts a new
// session, and no process can ever join an older one, so nothing of an attempt has the agent's
// session id. All members may be called from any thread.
class WatchdogRegistry {
 public:
  // There is one per process because children belong to a process.
  static WatchdogRegistry& instance();

  // Runs `spawn` and remembers the pid that it returns. Both happen under the lock, so that a new
  // watchdog is never taken for an orphan.
  Result<pid_t> start(const std::function<Result<pid_t>()>& spawn);
  // To be called after the watchdog `pid` has been waited for.
  void forget(pid_t pid);

  // Kills and reaps all orphans not older than `since_ticks` (ProcessInfo::start_ticks of the dead
  // watchdog). Returns how many were left at the end of `limit`.
  std::size_t kill_orphans(std::uint64_t since_ticks, std::chrono::milliseconds limit);

 private:
  std::vector<ProcessInfo> orphans(std::uint64_t since_ticks, bool dead);

  std::mutex mutex_;
  std::set<pid_t> watchdogs_;
};

}  // namespace loam::agent
