// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/units.h"
#include "loam/client_flags.h"
#include "loam/exit_code.h"
#include "loam/fs_client.h"
#include "loam/fs_commands.h"
#include "loam/fs_copy.h"
#include "loam/json_text.h"
#include "loam/output.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string from;
  std::string to;
  bool recursive = false;
  bool json = false;
};

Result<int> run(const Options& options) {
  const CopyEnd from = TRY(parse_fs_copy_end(options.from));
  const CopyEnd to = TRY(parse_fs_copy_end(options.to));
  if (from.in_store == to.in_store) {
    return fail(from.in_store ? ErrorCode::kUnimplemented : ErrorCode::kInvalidArgument,
                from.in_store ? "copying within the namespace is not implemented in this version; "
                                "copy to this machine and back"
                              : "one of the two is to be in the namespace, and is written fs:/...");
  }
  const ApiClient client = TRY(ApiClient::open(options.client));
  const FsCopied copied = TRY(to.in_store ? fs_upload(client, from, to, options.recursive)
                                          : fs_download(client, from, to, options.recursive));
  if (options.json) print_json({{"files", copied.files}, {"bytes", copied.bytes}});
  note("copied {} file{}, {}\n", copied.files, copied.files == 1 ? "" : "s",
       format_bytes(copied.bytes));
  return kExitOk;
}

constexpr const char* kFooter =
    "One of SRC and DST is in the namespace (fs:/...), the other on this machine. As with cp -r:\n"
    "\n"
    "  a file, or a directory with -r, goes into DST if DST is a directory or ends in '/';\n"
    "  else the copy becomes DST. Directories are made as needed, files that are there replaced.\n"
    "\n"
    "A SRC directory that ends in '/' stands for what is in it, which goes straight into DST, so "
    "that\n"
    "repeating the command changes nothing:\n"
    "\n"
    "  loam fs cp -r emoji/ fs:/datasets/emoji    emoji/0.mds -> fs:/datasets/emoji/0.mds\n"
    "  loam fs cp -r emoji  fs:/datasets/         the same\n"
    "  loam fs cp -r fs:/users/ann/out/ out       fs:/users/ann/out/a -> out/a\n"
    "  loam fs cp fs:/users/ann/out/a .           -> ./a\n"
    "\n"
    "Modes, times, symbolic links and empty directories come along. Each file is replaced at once "
    "and\n"
    "as a whole; uploads carry a checksum that the server verifies.";

}  // namespace

void add_fs_cp_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("cp", "Copy files into or out of the namespace");
  command->footer(kFooter);
  command->add_option("SRC", options->from, "What to copy")->required()->option_text(" ");
  command->add_option("DST", options->to, "Where to")->required()->option_text(" ");
  command->add_flag("-r,--recursive", options->recursive, "Copy a directory with all below it");
  command->add_flag("--json", options->json, "Print JSON: {files, bytes}");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs cp", run(*options)); });
}

}  // namespace loam::cli
