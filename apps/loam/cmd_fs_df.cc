// SPDX-License-Identifier: Apache-2.0
#include <memory>

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
  std::string path = "/";
  bool json = false;
};

std::string left(const Json& space, const char* key, bool bytes) {
  if (member_of(space, key).is_null()) return "no limit";
  const std::int64_t value = whole_of(space, key);
  return bytes ? format_bytes(value) : std::to_string(value);
}

Result<int> run(const Options& options) {
  const CopyEnd place = TRY(parse_fs_path(options.path));
  const ApiClient client = TRY(ApiClient::open(options.client));
  const Json space = TRY(client.get(fs_url("df", place.path)));
  if (options.json) {
    print_json(space);
    return kExitOk;
  }
  Table table({{""}, {"USED", Align::kRight}, {"LEFT", Align::kRight}});
  table.add({{"bytes"},
             {format_bytes(whole_of(space, "used_bytes"))},
             {left(space, "bytes_left", true)}});
  table.add({{"files"},
             {std::to_string(whole_of(space, "used_files"))},
             {left(space, "files_left", false)}});
  print_table(table);
  return kExitOk;
}

}  // namespace

void add_fs_df_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("df", "Show what is used and left by the quotas");
  command->footer(
      "Used is counted below the nearest directory with a quota, from PATH upwards; left is the\n"
      "least that any quota above leaves.\n"
      "\n"
      "Examples:\n  loam fs df\n  loam fs df /users/ann");
  command->add_option("PATH", options->path, "Where; / without one")->option_text(" ");
  command->add_flag("--json", options->json, "Print JSON");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs df", run(*options)); });
}

}  // namespace loam::cli
