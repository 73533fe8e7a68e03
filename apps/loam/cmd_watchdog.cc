// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "agent/watchdog.h"
#include "loam/commands.h"

namespace loam::cli {

// Hidden: the agent starts it for each attempt, with the control socket open.
void add_watchdog_command(CLI::App& app, int& exit_code) {
  const auto control_fd = std::make_shared<int>(agent::kWatchdogControlFd);
  CLI::App* command =
      app.add_subcommand("watchdog", "Started by 'loam node' for each attempt; of no use by hand");
  command->add_option("--control-fd", *control_fd, "The descriptor of the control socket")
      ->type_name("FD")
      ->check(CLI::NonNegativeNumber);
  command->group("");
  command->callback([control_fd, &exit_code] { exit_code = agent::watchdog_main(*control_fd); });
}

}  // namespace loam::cli
