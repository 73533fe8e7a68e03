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
  bool follow = false;
  bool json = false;
};

Result<int> run(const Options& options) {
  const CopyEnd place = TRY(parse_fs_path(options.path));
  const ApiClient client = TRY(ApiClient::open(options.client));
  const Json found =
      TRY(client.get(fs_url("stat", place.path) + (options.follow ? "&follow=1" : "")));
  if (options.json) {
    print_json(found);
    return kExitOk;
  }
  const FsEntry entry = entry_from(found);
  print("path        {}\n", printable(entry.name));
  print("type        {}\n", entry.type);
  if (!entry.target.empty()) print("target      {}\n", printable(entry.target));
  print("size        {} ({} bytes)\n", format_bytes(entry.size), entry.size);
  print("mode        {} ({:04o})\n", mode_text(entry), entry.mode);
  print("owner       {}:{}\n", entry.uid, entry.gid);
  print("links       {}\n", entry.nlink);
  print("modified    {}\n", entry.mtime);
  print("inode       {}\n", entry.inode);
  print("generation  {}\n", entry.generation);
  return kExitOk;
}

}  // namespace

void add_fs_stat_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("stat", "Show what an entry is");
  command->footer(
      "Examples:\n  loam fs stat /datasets/emoji\n  loam fs stat --follow --json /latest");
  command->add_option("PATH", options->path, "Which")->required()->option_text(" ");
  command->add_flag("--follow", options->follow, "What a symbolic link leads to");
  command->add_flag("--json", options->json, "Print JSON");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs stat", run(*options)); });
}

}  // namespace loam::cli
