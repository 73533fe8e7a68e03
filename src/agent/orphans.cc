// SPDX-License-Identifier: Apache-2.0
#include "agent/orphans.h"

#include <sys/wait.h>
#include <unistd.h>

namespace loam::agent {

WatchdogRegistry& WatchdogRegistry::instance() {
  static WatchdogRegistry registry;
  return registry;
}

Result<pid_t> WatchdogRegistry::start(const std::function<Result<pid_t>()>& spawn) {
  const std::lock_guard lock(mutex_);
  const pid_t pid = TRY(spawn());
  watchdogs_.insert(pid);
  return pid;
}

void WatchdogRegistry::forget(pid_t pid) {
  const std::lock_guard lock(mutex_);
  watchdogs_.erase(pid);
}

std::vector<ProcessInfo> WatchdogRegistry::orphans(std::uint64_t since_ticks, bool dead) {
  const pid_t self = getpid();
  const pid_t session = getsid(0);
  const std::lock_guard lock(mutex_);
  const std::vector<ProcessInfo> all = list_processes();
  std::vector<ProcessInfo> out;
  for (const ProcessInfo& process : all) {
    if (process.parent != self || process.session == session) continue;
    if (process.start_ticks < since_ticks || watchdogs_.contains(process.pid)) continue;
    if (process.is_dead() != dead) continue;
    out.push_back(process);
    if (dead) continue;
    const std::vector<ProcessInfo> below = descendants_of(process.pid, all);
    out.insert(out.end(), below.begin(), below.end());
  }
  return out;
}

std::size_t WatchdogRegistry::kill_orphans(std::uint64_t since_ticks,
                                           std::chrono::milliseconds limit) {
  const auto list = [&] { return orphans(since_ticks, /*dead=*/false); };
  const auto reap = [&] {
    for (const ProcessInfo& process : orphans(since_ticks, /*dead=*/true)) {
      waitpid(process.pid, nullptr, WNOHANG);
    }
  };
  return kill_until_none(list, reap, limit);
}

}  // namespace loam::agent
