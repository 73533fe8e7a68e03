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
  std::string from;
  std::string to;
  bool no_replace = false;
  bool exchange = false;
};

Result<int> run(const Options& options) {
  const CopyEnd from = TRY(parse_fs_path(options.from));
  const CopyEnd to = TRY(parse_fs_path(options.to));
  const ApiClient client = TRY(ApiClient::open(options.client));
  std::string target = to.path;
  if (!options.exchange) {
    const auto place = TRY(fs_find(client, to.path, Links::kFollow));
    const CopyEnd moved{.in_store = true, .path = from.path};
    target = copy_destination(moved, false, to, place && place->is_directory());
  }
  Json body{{"mode", options.exchange     ? "exchange"
                     : options.no_replace ? "no_replace"
                                          : "replace"}};
  put_path(body, "from", from.path);
  put_path(body, "to", target);
  TRY(fs_post(client, "rename", body));
  return kExitOk;
}

}  // namespace

void add_fs_mv_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("mv", "Rename or move a file or a directory");
  command->footer(
      "Goes into DST if that is a directory or ends in '/'. It is one step, however much lies "
      "below.\n"
      "\n"
      "Examples:\n"
      "  loam fs mv /runs/ckpt.tmp /runs/ckpt-100\n"
      "  loam fs mv --exchange /models/live /models/next");
  command->add_option("SRC", options->from, "What to move")->required()->option_text(" ");
  command->add_option("DST", options->to, "Where to")->required()->option_text(" ");
  auto* no_replace =
      command->add_flag("-n,--no-replace", options->no_replace, "Fail if DST is there");
  command->add_flag("--exchange", options->exchange, "Both are there and change places")
      ->excludes(no_replace);
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs mv", run(*options)); });
}

}  // namespace loam::cli
