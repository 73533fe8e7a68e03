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
  bool undo = false;
  bool json = false;
};

}  // namespace

void add_fs_seal_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("seal", "Let nothing below a directory change any more");
  command->footer(
      "Examples:\n  loam fs seal /datasets/emoji\n  loam fs seal --undo /datasets/emoji");
  command->add_option("PATH", options->path, "Which")->required()->option_text(" ");
  command->add_flag("--undo", options->undo, "Let it change again");
  command->add_flag("--json", options->json, "Print JSON");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] {
    exit_code = finish("fs seal", run_policy(options->client, options->path,
                                             {{"sealed", !options->undo}}, options->json));
  });
}

}  // namespace loam::cli
