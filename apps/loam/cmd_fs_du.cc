// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/encoding.h"
#include "base/units.h"
#include "loam/client_flags.h"
#include "loam/exit_code.h"
#include "loam/fs_client.h"
#include "loam/fs_commands.h"
#include "loam/json_text.h"
#include "loam/output.h"
#include "loam/table.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::vector<std::string> paths;
  bool exact = false;
  bool json = false;
};

Result<int> run(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  Table table({{"SIZE", Align::kRight}, {"FILES", Align::kRight}, {"PATH"}});
  Json all = Json::array();
  for (const std::string& text : options.paths) {
    const CopyEnd place = TRY(parse_fs_path(text));
    Json sums = TRY(client.get(fs_url("du", place.path) + (options.exact ? "&exact=1" : "")));
    table.add({{format_bytes(whole_of(sums, "bytes"))},
               {std::to_string(whole_of(sums, "files"))},
               {printable(place.path)}});
    put_path(sums, "path", place.path);
    all.push_back(std::move(sums));
  }
  if (options.json) {
    print_json({{"usage", std::move(all)}});
  } else {
    print_table(table);
  }
  return kExitOk;
}

}  // namespace

void add_fs_du_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("du", "Show how much lies below directories");
  command->footer(
      "The sums are kept, not counted: they take no time and are at most a second old. FILES are\n"
      "entries of any type, each file once however many names it has.\n"
      "\n"
      "Examples:\n  loam fs du /datasets /runs\n  loam fs du --exact --json /runs");
  command->add_option("PATH", options->paths, "Which")->required()->option_text(" ");
  command->add_flag("--exact", options->exact, "As of now");
  command->add_flag("--json", options->json, "Print JSON: {usage}");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs du", run(*options)); });
}

}  // namespace loam::cli
