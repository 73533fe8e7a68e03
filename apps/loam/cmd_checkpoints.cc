// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/encoding.h"
#include "loam/checkpoint_table.h"
#include "loam/client.h"
#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/exit_code.h"
#include "loam/json_text.h"
#include "loam/output.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string job;
  std::string pin;
  std::string unpin;
  bool all = false;
  bool json = false;
};

Status set_pin(const ApiClient& client, const Options& options) {
  const bool pinned = !options.pin.empty();
  const std::string& set = pinned ? options.pin : options.unpin;
  const std::string rest = fmt::format("/checkpoints/{}/pin", percent_encode(set, false));
  TRY(client.call("PUT", job_path(options.job, rest), {{"pinned", pinned}},
                  {.repeat = Repeat::kSafe}));
  note("{} is {}\n", set, pinned ? "pinned: it is kept until it is unpinned" : "no longer pinned");
  return {};
}

Result<int> run(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  if (!options.pin.empty() || !options.unpin.empty()) {
    TRY_VOID(set_pin(client, options));
    if (!options.json) return kExitOk;
  }
  const Json answer =
      TRY(client.get(job_path(options.job, options.all ? "/checkpoints?all=1" : "/checkpoints")));
  if (options.json) {
    print_json(answer);
    return kExitOk;
  }
  const Table table = checkpoint_table(member_of(answer, "checkpoints"));
  if (table.empty()) {
    note("{} has no checkpoint\n", options.job);
  } else {
    print_table(table);
  }
  return kExitOk;
}

}  // namespace

void add_checkpoints_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("checkpoints", "List a job's checkpoint sets, and pin them");
  command->group(kJobCommands);
  command->footer(
      "A pinned set is kept whatever the job's 'keep_last' says.\n"
      "\n"
      "Examples:\n"
      "  loam checkpoints j-0f3k...\n"
      "  loam checkpoints j-0f3k... --pin c-7hq2...");
  command->add_option("ID", options->job, "The job")->required()->option_text(" ");
  CLI::Option* pin = command->add_option("--pin", options->pin, "Keep this set")->type_name("SET");
  command->add_option("--unpin", options->unpin, "Let this set go again when its time has come")
      ->type_name("SET")
      ->excludes(pin);
  command->add_flag("--all", options->all, "Deleted sets too");
  command->add_flag("--json", options->json, "Print JSON");
  add_client_flags(*command, options->client);
  command->callback(
      [options, &exit_code] { exit_code = finish("checkpoints " + options->job, run(*options)); });
}

}  // namespace loam::cli
