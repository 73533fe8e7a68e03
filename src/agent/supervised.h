// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/process_event.h"
#include "agent/process_spec.h"
#include "base/clock.h"
#include "base/result.h"
#include "io/file.h"

namespace loam::agent {

// How a watchdog is executed: a program that calls watchdog_main(kWatchdogControlFd). The default
// is the hidden subcommand of the running binary, which works even after the file was replaced.
struct WatchdogProgram {
  std::string executable = "/proc/self/exe";
  std::vector<std::string> arguments = {"loam", "watchdog"};  // argv[0] first
};

// The program of one attempt, run by a watchdog; the agent's side. See watchdog.h for what the
// watchdog promises. The agent must have called become_subreaper() before its first one, must not
// ignore SIGCHLD, and nothing in it may wait for children that it does not know (waitpid -1).
//
// alive(), terminate() and kill() may be called from any thread; next_event() from one at a time.
class SupervisedProcess {
 public:
  // Returns once the watchdog runs; whether the program does comes as an event. kInvalidArgument
  // for a spec that can never work.
  static Result<std::unique_ptr<SupervisedProcess>> start(const ProcessSpec& spec,
                                                          const WatchdogProgram& program = {});
  // Kills the tree if it is still there and waits until it is gone; milliseconds as a rule.
  ~SupervisedProcess();
  SupervisedProcess(const SupervisedProcess&) = delete;
  SupervisedProcess& operator=(const SupervisedProcess&) = delete;

  // Readable when next_event() has something. Do not read from it.
  int event_fd() const { return socket_.get(); }

  // The next event, or nothing if none came in time. StartFailedEvent or ExitedEvent is the last
  // one; from then on over() is true and this returns nothing at once. A watchdog that was killed
  // shows as an ExitedEvent with kReasonWatchdogDied, after its tree has been killed.
  Result<std::optional<ProcessEvent>> next_event(std::chrono::milliseconds timeout);
  bool over() const { return over_; }

  // To be called at least each second while the program may run: moves the time at which the
  // watchdog ends it by itself.
  void alive(std::int64_t kill_at_boot_us);
  // SIGTERM to the program at once, SIGKILL to the tree after the grace. `reason` comes back in the
  // ExitedEvent. Later calls can shorten the grace. A watchdog that is stopped hears nothing: when
  // no last event comes within the grace and some seconds, destroy this object, which needs no
  // watchdog.
  void terminate(std::chrono::milliseconds grace, const std::string& reason);
  // SIGKILL to the tree now.
  void kill();

  pid_t watchdog_pid() const { return watchdog_; }

 private:
  SupervisedProcess(io::Fd socket, pid_t watchdog, std::string cgroup_name);
  Status command(const ProcessCommand& command);
  void kill_watchdog();
  bool wait_for_watchdog(std::chrono::milliseconds timeout);
  void clean_up_after_watchdog();

  io::Fd socket_;
  const pid_t watchdog_;
  io::Fd watchdog_handle_;            // pidfd
  std::uint64_t watchdog_start_ = 0;  // ProcessInfo::start_ticks
  const std::string cgroup_name_;
  std::mutex reap_mutex_;  // guards reaped_ and the moment at which the pid becomes free
  bool reaped_ = false;
  std::atomic<bool> over_ = false;
};

}  // namespace loam::agent
