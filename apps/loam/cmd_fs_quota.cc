// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/encoding.h"
#include "base/units.h"
#include "loam/client_flags.h"
#include "loam/exit_code.h"
#include "loam/fs_commands.h"
#include "loam/fs_policy.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string path;
  std::string bytes;
  std::string files;
  bool json = false;
};

Result<int> run(const Options& options) {
  Json change = Json::object();
  if (options.bytes == "none") {
    change["max_bytes"] = nullptr;
  } else if (!options.bytes.empty()) {
    change["max_bytes"] = TRY(parse_bytes(options.bytes));
  }
  if (options.files == "none") {
    change["max_files"] = nullptr;
  } else if (!options.files.empty()) {
    const auto files = parse_whole_number(options.files);
    if (!files) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is no number of files", printable(options.files)));
    }
    change["max_files"] = *files;
  }
  return run_policy(options.client, options.path, change, options.json);
}

}  // namespace

void add_fs_quota_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("quota", "Show or limit what may lie below a directory");
  command->footer(
      "A write that would pass a limit fails as a whole. Only an admin sets limits.\n"
      "\n"
      "Examples:\n"
      "  loam fs quota /users/ann\n"
      "  loam fs quota --bytes 2T --files 10000000 /users/ann\n"
      "  loam fs quota --files none /users/ann");
  command->add_option("PATH", options->path, "Which")->required()->option_text(" ");
  command->add_option("--bytes", options->bytes, "512G; 'none' for no limit")->option_text("SIZE");
  command->add_option("--files", options->files, "Entries of any type; 'none' for no limit")
      ->option_text("N");
  command->add_flag("--json", options->json, "Print JSON");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs quota", run(*options)); });
}

}  // namespace loam::cli
