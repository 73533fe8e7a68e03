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
  return act_on_jobs(client, options.jobs, {.verb = "retry", .done = "queued"});
}

}  // namespace

void add_retry_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("retry", "Queue failed or canceled jobs again");
  command->group(kJobCommands);
  command->footer(
      "A job goes on from its newest checkpoint, with its failures forgotten and every node "
      "allowed\n"
      "again.\n\nExample:\n  loam retry j-0f3k...");
  command->add_option("ID", options->jobs, "The jobs")->required()->option_text("...");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("retry", run(*options)); });
}

}  // namespace loam::cli
