// SPDX-License-Identifier: Apache-2.0
//
// main() of the tests, which is also the watchdog that they start and an agent that they can kill.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

#include "agent/process_testing.h"
#include "agent/process_tree.h"
#include "agent/supervised.h"
#include "agent/watchdog.h"
#include "base/clock.h"

namespace loam::agent::testing {

namespace {

// An agent with one attempt: the script in `directory`/script, a grace and a time to live. It
// renews until it is killed or stopped and writes how the attempt ended to `directory`/ended.
int run_agent(const std::string& directory, int grace_ms, int ttl_ms) {
  if (!become_subreaper()) return 1;
  ProcessSpec spec = shell_spec(directory, ". ./script");
  spec.grace = milliseconds(grace_ms);
  const SystemClock clock;
  const auto process = SupervisedProcess::start(spec, test_watchdog());
  if (!process) return 1;
  while (!(*process)->over()) {
    (*process)->alive(clock.boot_us() + std::int64_t{ttl_ms} * 1'000);
    const auto event = (*process)->next_event(milliseconds(50));
    if (!event || !*event) continue;
    if (const auto* exited = std::get_if<ExitedEvent>(&**event)) {
      std::ofstream(directory + "/ended") << exited->reason << "\n";
    }
  }
  return 0;
}

}  // namespace

}  // namespace loam::agent::testing

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "--watchdog") return loam::agent::watchdog_main(loam::agent::kWatchdogControlFd);
  if (mode == "--agent" && argc == 5) {
    return loam::agent::testing::run_agent(argv[2], std::stoi(argv[3]), std::stoi(argv[4]));
  }
  testing::InitGoogleTest(&argc, argv);
  if (!loam::agent::become_subreaper()) return 1;
  return RUN_ALL_TESTS();
}
