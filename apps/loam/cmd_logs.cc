// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/exit_code.h"
#include "loam/interrupt.h"
#include "loam/log_follow.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  LogOptions log;
  bool follow = false;
};

Result<int> run(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  const Status status = options.follow ? follow_log(client, options.log, stdout)
                                       : print_log(client, options.log, stdout);
  // Without an interrupt, canceled means that whoever read the output has had enough.
  if (!status && status.error().code == ErrorCode::kCanceled && !interrupted()) return kExitOk;
  TRY_VOID(status);
  return kExitOk;
}

}  // namespace

void add_logs_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("logs", "Print a job's output");
  command->group(kJobCommands);
  command->footer(
      "Without --attempt it is the latest attempt's; -f goes on with the attempts after it until "
      "the job\n"
      "has ended. Output over the rate or size limit is left out, and a line says how much.\n"
      "\n"
      "Examples:\n"
      "  loam logs j-0f3k...\n"
      "  loam logs -f j-0f3k...\n"
      "  loam logs j-0f3k... --attempt 1");
  command->add_option("ID", options->log.job, "The job")->required()->option_text(" ");
  command->add_flag("-f,--follow", options->follow, "Go on until the job has ended");
  command->add_option("--attempt", options->log.attempt, "Only this attempt's output")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  add_client_flags(*command, options->client);
  command->callback(
      [options, &exit_code] { exit_code = finish("logs " + options->log.job, run(*options)); });
}

}  // namespace loam::cli
