// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "loam/client.h"
#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/exit_code.h"
#include "loam/json_text.h"
#include "loam/output.h"
#include "loam/report_text.h"
#include "loam/table.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string job;
  bool json = false;
};

Result<int> run(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  const bool fleet = options.job.empty();
  const Json report =
      TRY(client.get(fleet ? std::string("/v1/report") : job_path(options.job, "/cost")));
  if (options.json) {
    print_json(report);
    return kExitOk;
  }
  const bool colour = colour_wanted(stdout);
  print("{}", fleet ? fleet_report_text(report, colour) : job_report_text(report, colour));
  return kExitOk;
}

}  // namespace

void add_report_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("report", "What a job, or the fleet, cost and where the time went");
  command->group(kJobCommands);
  command->footer(
      "Goodput is the time of the steps that count (each at most three times the median) over the "
      "paid\n"
      "slot time. A hand-over is the time from a node's death to the first new step elsewhere.\n"
      "\n"
      "Examples:\n"
      "  loam report j-0f3k...\n"
      "  loam report --json          the whole fleet (needs an admin token)");
  command->add_option("JOB", options->job, "The job; without it, the fleet")->option_text(" ");
  command->add_flag("--json", options->json, "Print JSON");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] {
    exit_code = finish(options->job.empty() ? "report" : "report " + options->job, run(*options));
  });
}

}  // namespace loam::cli
