// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "loam/client_flags.h"
#include "loam/exit_code.h"
#include "loam/fs_commands.h"
#include "loam/fs_policy.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string path;
  std::string durability;
  bool json = false;
};

Result<int> run(const Options& options) {
  Json change = Json::object();
  if (options.durability == "inherit") {
    change["durability"] = nullptr;
  } else if (!options.durability.empty()) {
    change["durability"] = options.durability;
  }
  return run_policy(options.client, options.path, change, options.json);
}

}  // namespace

void add_fs_durability_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      fs.add_subcommand("durability", "Show or set where written files are before close returns");
  command->footer(
      "  local       on the drive of the node that wrote them\n"
      "  replicated  on the drives of two nodes\n"
      "  stored      in the store, as is all that is put through the server\n"
      "  inherit     as the directory above says\n"
      "\n"
      "Examples:\n  loam fs durability /runs\n  loam fs durability /runs/ckpt stored");
  command->add_option("PATH", options->path, "Which directory")->required()->option_text(" ");
  command->add_option("DURABILITY", options->durability, "What holds below it from now on")
      ->check(CLI::IsMember({"local", "replicated", "stored", "inherit"}))
      ->option_text(" ");
  command->add_flag("--json", options->json, "Print JSON");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs durability", run(*options)); });
}

}  // namespace loam::cli
