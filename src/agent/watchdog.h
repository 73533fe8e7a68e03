// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loam::agent {

// The descriptor of the control socket in a watchdog that SupervisedProcess has started.
inline constexpr int kWatchdogControlFd = 3;

// The small process between an agent and the program of one attempt. It guarantees that nothing of
// the attempt outlives it, whatever happens to the agent and whatever the program does:
//
// - It is a child subreaper, so daemons and new sessions stay below it, and the attempt is over
// when
//   it has no child left (waitpid says ECHILD), not when /proc looks empty.
// - It terminates the program when told to, when the control socket ends (the agent is dead), and
//   when CLOCK_BOOTTIME passes the deadline of the last `alive` (the agent is frozen or fenced).
// - When it is killed itself, the program gets SIGKILL (PR_SET_PDEATHSIG) and the rest becomes the
//   agent's, which kills it.
//
// Reads its order from `control_fd`, runs until the attempt is over and returns the exit status of
// the watchdog process, which is 0 only if nothing of the attempt is left. Must be called in a
// process without other threads.
int watchdog_main(int control_fd);

}  // namespace loam::agent
