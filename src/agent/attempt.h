// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "agent/attempt_cgroup.h"
#include "agent/child_start.h"
#include "agent/process_spec.h"
#include "base/clock.h"

namespace loam::agent {

// The processes of one attempt as their watchdog sees them: starting, signalling, reaping, and the
// deadlines after which they are killed. Knows nothing of sockets and logs.
class Attempt {
 public:
  Attempt(const WatchdogOrder& order, const Clock& clock);

  Result<StartingChild> start();

  // SIGTERM to the program's process group at once, SIGKILL to everything after the grace. Repeated
  // calls can bring the end forward, never put it off.
  void terminate(std::chrono::milliseconds grace, const std::string& reason);
  void set_kill_at(std::int64_t boot_us) { kill_at_us_ = boot_us; }

  // Reaps what has died. True while anything of the attempt is left.
  bool reap();
  // Does what is due now: deadlines, the remains of a program that has ended, killing.
  void enforce();
  // When enforce() has to be called next, at the latest.
  std::int64_t next_deadline_us() const;
  // False once the kernel has refused for long to let the rest die.
  bool worth_waiting() const;

  // How it ended; to be called once nothing is left or waiting is pointless.
  ExitedEvent finish();

 private:
  void kill_everything();

  const ProcessSpec& spec_;
  const Clock& clock_;
  AttemptCgroup cgroup_;
  pid_t child_ = 0;
  std::optional<int> child_status_;  // as waitpid gave it
  std::int64_t child_ended_us_ = 0;
  std::int64_t kill_at_us_ = 0;
  std::optional<std::int64_t> term_deadline_us_;
  std::optional<std::int64_t> sweep_deadline_us_;
  std::string reason_;
  std::optional<std::int64_t> first_kill_us_;
};

}  // namespace loam::agent
