// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/log_limiter.h"
#include "base/json.h"
#include "base/result.h"

namespace loam::agent {

// What to run for one attempt and under which rules. All texts are UTF-8; paths are absolute.
struct ProcessSpec {
  std::string command;                 // with a '/' relative to work_dir, else looked up in PATH
  std::vector<std::string> arguments;  // without the command itself
  // Complete: nothing is inherited, PATH and LOAM_PROGRESS included.
  std::map<std::string, std::string> environment;
  std::string work_dir;
  std::string spool_dir;  // exists, one per attempt; gets output.spool and watchdog.log
  // Between SIGTERM and SIGKILL when the agent is dead or the deadline has passed.
  std::chrono::milliseconds grace{60'000};
  std::int64_t kill_at_boot_us = 0;  // CLOCK_BOOTTIME; 0 means no deadline until alive() sets one
  std::string progress_pattern;      // RE2, its first group is the step; empty for none
  std::string progress_file;         // polled for steps and times; empty for none
  LogLimits log_limits;
  std::optional<uid_t> uid;  // run as another user; needs privileges
  std::optional<gid_t> gid;
  bool use_cgroup = true;  // where one can be made
};

// kInvalidArgument names the field that cannot be right.
Status check_process_spec(const ProcessSpec& spec);

// The spec and the name of the attempt's control group as the watchdog gets them.
struct WatchdogOrder {
  ProcessSpec spec;
  std::string cgroup_name;
};
Json to_json(const WatchdogOrder& order);
Result<WatchdogOrder> watchdog_order_from_json(const Json& json);

}  // namespace loam::agent
