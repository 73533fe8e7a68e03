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
  std::string target;
  std::string link;
  bool symbolic = false;
};

Result<int> run(const Options& options) {
  const CopyEnd link = TRY(parse_fs_path(options.link));
  const ApiClient client = TRY(ApiClient::open(options.client));
  Json body = Json::object();
  if (options.symbolic) {
    put_path(body, "path", link.path);
    put_path(body, "target", options.target);
    TRY(fs_post(client, "symlink", body));
  } else {
    put_path(body, "from", TRY(parse_fs_path(options.target)).path);
    put_path(body, "to", link.path);
    TRY(fs_post(client, "link", body));
  }
  return kExitOk;
}

}  // namespace

void add_fs_ln_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("ln", "Make a link");
  command->footer(
      "Without -s the file has two names that are worth the same. With -s TARGET is any text; a\n"
      "relative one counts from LINK's directory.\n"
      "\n"
      "Examples:\n  loam fs ln -s ckpt-100 /runs/latest\n  loam fs ln /runs/a /runs/b");
  command->add_option("TARGET", options->target, "What to link to")->required()->option_text(" ");
  command->add_option("LINK", options->link, "The new name")->required()->option_text(" ");
  command->add_flag("-s,--symbolic", options->symbolic, "A symbolic link");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs ln", run(*options)); });
}

}  // namespace loam::cli
