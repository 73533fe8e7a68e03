// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>

#include "agent/attempt_cgroup.h"
#include "agent/process_event.h"
#include "agent/process_spec.h"
#include "base/result.h"
#include "io/file.h"

namespace loam::agent {

// A forked program on its way to execve(2).
struct StartingChild {
  pid_t pid = 0;
  io::Fd output;  // non-blocking; standard output and error in one pipe, so that order is kept
  io::Fd status;  // non-blocking; see read_start_status
};

// Forks from a single-threaded process. The child gets its own session and process group, default
// signals, /dev/null as standard input and no other descriptor; it dies with the caller.
Result<StartingChild> start_child(const ProcessSpec& spec, const AttemptCgroup& cgroup);

struct StartStatus {
  bool decided = false;                   // false: not executed yet
  std::optional<StartFailedEvent> error;  // what stopped it before execve(2) succeeded
};
StartStatus read_start_status(int status_fd, const ProcessSpec& spec);

}  // namespace loam::agent
