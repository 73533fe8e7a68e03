// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/direct_commands.h"
#include "loam/direct_store.h"
#include "loam/exit_code.h"
#include "loam/file_download.h"
#include "loam/store_listing.h"
#include "loam/store_path.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string path;
};

Result<int> run(const Options& options) {
  if (is_direct(options.path)) return direct_cat(options.path);
  const CopyEnd place = TRY(parse_store_path(options.path));
  const ApiClient client = TRY(ApiClient::open(options.client));
  TRY_VOID(print_file(client, object_url(place.path)));
  return kExitOk;
}

}  // namespace

void add_store_cat_command(CLI::App& store, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = store.add_subcommand("cat", "Write a file of the store to standard output");
  command->footer(
      "Examples:\n  loam store cat store:/users/ann/out/a | head\n"
      "  loam store cat s3://bucket/a.json | jq .");
  command->add_option("PATH", options->path, "Which")->required()->option_text(" ");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("store cat", run(*options)); });
}

}  // namespace loam::cli
