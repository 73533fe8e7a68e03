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

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string path;
  bool json = false;
};

void print_entry(const FsEntry& entry) {
  std::string name = printable(entry.name);
  if (entry.type == "symlink") name += " -> " + printable(entry.target);
  if (entry.is_directory()) name += "/";
  print("{}  {:>10}  {}  {}\n", mode_text(entry),
        entry.is_directory() ? "-" : format_bytes(entry.size), entry.mtime, name);
}

// Page by page: a directory of millions is never held as a whole.
Status print_directory(const ApiClient& client, const Options& options, const std::string& path) {
  bool first = true;
  if (options.json) print("{{\"entries\": [");
  TRY_VOID(for_each_page(client, path, [&](const FsPage& page) -> Status {
    if (options.json) {
      for (const Json& entry : page.raw) {
        print("{}\n  {}", first ? "" : ",", dump_json(entry));
        first = false;
      }
    } else {
      for (const FsEntry& entry : page.entries)
        print_entry(entry);
    }
    if (reader_gone()) return fail(ErrorCode::kCanceled, "nobody reads on");
    return {};
  }));
  if (options.json) print("\n]}}\n");
  return {};
}

Result<int> run(const Options& options) {
  const CopyEnd place = TRY(parse_fs_path(options.path));
  const ApiClient client = TRY(ApiClient::open(options.client));
  const Json found = TRY(client.get(fs_url("stat", place.path) + "&follow=1"));
  const FsEntry entry = entry_from(found);
  if (entry.is_directory()) {
    const Status printed = print_directory(client, options, place.path);
    if (!printed && !reader_gone()) return fail(printed.error());
  } else if (options.json) {
    print_json({{"entries", Json::array({found})}});
  } else {
    print_entry(entry);
  }
  return kExitOk;
}

}  // namespace

void add_fs_ls_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("ls", "List a directory");
  command->footer(
      "Entries come in the order in which they came into the directory.\n"
      "\n"
      "Examples:\n  loam fs ls /datasets\n  loam fs ls --json /datasets | jq '.entries[].name'");
  command->add_option("PATH", options->path, "Which; / without one")->option_text(" ");
  command->add_flag("--json", options->json, "Print JSON: {entries}");
  add_client_flags(*command, options->client);
  options->path = "/";
  command->callback([options, &exit_code] { exit_code = finish("fs ls", run(*options)); });
}

}  // namespace loam::cli
