// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/exit_code.h"
#include "loam/job_action.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::vector<std::string> jobs;
};

Result<int> run(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  // Canceling a canceled job changes nothing, so a lost answer may be asked for again.
  return act_on_jobs(client, options.jobs,
                     {.verb = "cancel", .done = "canceled", .repeat = Repeat::kSafe});
}

}  // namespace

void add_cancel_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("cancel", "Cancel jobs");
  command->group(kJobCommands);
  command->footer(
      "Checkpoints stay: 'loam retry' goes on from the newest one.\n\nExample:\n  loam cancel "
      "j-0f3k... j-9m2x...");
  command->add_option("ID", options->jobs, "The jobs")->required()->option_text("...");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("cancel", run(*options)); });
}

}  // namespace loam::cli
