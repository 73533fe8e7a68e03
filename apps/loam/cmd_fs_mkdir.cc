// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "loam/client_flags.h"
#include "loam/exit_code.h"
#include "loam/fs_client.h"
#include "loam/fs_commands.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::vector<std::string> paths;
  bool parents = false;
};

Result<int> run(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  for (const std::string& path : options.paths) {
    Json body{{"parents", options.parents}};
    put_path(body, "path", TRY(parse_fs_path(path)).path);
    TRY(fs_post(client, "mkdir", body));
  }
  return kExitOk;
}

}  // namespace

void add_fs_mkdir_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("mkdir", "Make directories");
  command->footer("Examples:\n  loam fs mkdir /runs\n  loam fs mkdir -p /users/ann/runs/7");
  command->add_option("PATH", options->paths, "Which")->required()->option_text(" ");
  command->add_flag("-p,--parents", options->parents,
                    "Make those above, too, and do not mind if it is there");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs mkdir", run(*options)); });
}

}  // namespace loam::cli
