// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

// What a watchdog tells its agent, and the other way round. Times are CLOCK_BOOTTIME.
namespace loam::agent {

inline constexpr std::size_t kMaxStepsPerEvent = 256;

// Values of ExitedEvent::reason beside those that terminate() was given.
inline constexpr const char* kReasonAgentDied = "agent_died";
inline constexpr const char* kReasonDeadline = "deadline";
inline constexpr const char* kReasonKilled = "killed";
inline constexpr const char* kReasonWatchdogDied = "watchdog_died";

// The program has been executed.
struct StartedEvent {
  std::int64_t pid = 0;
};

// There never was a program. Nothing follows.
struct StartFailedEvent {
  std::string message;   // what was tried and the text of errno
  int error_number = 0;  // errno, 0 when it was not a system call that failed
};

struct StepMark {
  std::int64_t step = 0;
  std::int64_t boot_us = 0;  // when the watchdog saw it
};

struct ProgressEvent {
  std::int64_t step = 0;  // the newest
  // Steps seen since the event before, in order, at most kMaxStepsPerEvent; where there were more,
  // those before the newest are missing. Empty when only the times below have changed.
  std::vector<StepMark> steps;
  std::int64_t data_wait_us = 0;   // cumulative for the program's process
  std::int64_t checkpoint_us = 0;  // likewise
  std::int64_t boot_us = 0;
};

// Output was dropped: so many bytes since the event before.
struct OutputGapEvent {
  std::int64_t bytes = 0;
};

// The program and all that it left behind are gone. Nothing follows. Exactly one of `code` and
// `signal` is set, but for kReasonWatchdogDied, where the status is not known and neither is.
struct ExitedEvent {
  std::optional<int> code;
  std::optional<int> signal;
  std::optional<bool> oom_killed;  // nothing when the kernel does not tell
  std::string reason;              // why it was terminated; empty when it ended by itself
  std::int64_t boot_us = 0;        // when the program itself ended
  std::int64_t leftover = 0;       // processes that could not be killed (they hang in the kernel)
};

using ProcessEvent =
    std::variant<StartedEvent, StartFailedEvent, ProgressEvent, OutputGapEvent, ExitedEvent>;

Json to_json(const ProcessEvent& event);
Result<ProcessEvent> process_event_from_json(const Json& json);

// The agent lives; the tree may run until then.
struct AliveCommand {
  std::int64_t kill_at_boot_us = 0;
};
// SIGTERM now, SIGKILL to the whole tree after the grace; a second one can only shorten that.
struct TerminateCommand {
  std::int64_t grace_ms = 0;
  std::string reason;
};
struct KillCommand {};

using ProcessCommand = std::variant<AliveCommand, TerminateCommand, KillCommand>;

Json to_json(const ProcessCommand& command);
Result<ProcessCommand> process_command_from_json(const Json& json);

}  // namespace loam::agent
