// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "loam/client_flags.h"
#include "loam/exit_code.h"
#include "loam/file_download.h"
#include "loam/fs_client.h"
#include "loam/fs_commands.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string path;
};

Result<int> run(const Options& options) {
  const CopyEnd place = TRY(parse_fs_path(options.path));
  const ApiClient client = TRY(ApiClient::open(options.client));
  TRY_VOID(print_file(client, fs_url("content", place.path)));
  return kExitOk;
}

}  // namespace

void add_fs_cat_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("cat", "Write a file to standard output");
  command->footer("Examples:\n  loam fs cat /users/ann/out/a | head");
  command->add_option("PATH", options->path, "Which")->required()->option_text(" ");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs cat", run(*options)); });
}

}  // namespace loam::cli
