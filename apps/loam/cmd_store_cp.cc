// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/units.h"
#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/direct_commands.h"
#include "loam/direct_store.h"
#include "loam/exit_code.h"
#include "loam/json_text.h"
#include "loam/output.h"
#include "loam/store_copy.h"

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
  if (is_direct(options.from) || is_direct(options.to)) {
    return direct_cp({options.from, options.to, options.recursive, options.json});
  }
  const CopyEnd from = TRY(parse_copy_end(options.from));
  const CopyEnd to = TRY(parse_copy_end(options.to));
  const ApiClient client = TRY(ApiClient::open(options.client));
  const std::vector<CopyItem> items = TRY(plan_copy(client, from, to, options.recursive));
  TRY_VOID(to.in_store ? upload_files(client, items) : download_files(client, items));
  if (options.json) print_json({{"files", items.size()}, {"bytes", total_bytes(items)}});
  note("copied {} file{}, {}\n", items.size(), items.size() == 1 ? "" : "s",
       format_bytes(total_bytes(items)));
  return kExitOk;
}

constexpr const char* kFooter =
    "One of SRC and DST is in the store (store:/...), the other on this machine. Or either is\n"
    "s3://bucket/key, which this machine reaches by itself ('loam store --help'). As with cp -r:\n"
    "\n"
    "  a file, or a directory with -r, goes into DST if DST is a directory or ends in '/';\n"
    "  else the copy becomes DST. Directories are made as needed, files that are there replaced.\n"
    "\n"
    "A SRC directory that ends in '/' stands for what is in it, which goes straight into DST, so "
    "that\n"
    "repeating the command changes nothing:\n"
    "\n"
    "  loam store cp -r emoji/ store:/datasets/emoji    emoji/0.mds -> "
    "store:/datasets/emoji/0.mds\n"
    "  loam store cp -r emoji  store:/datasets/         the same\n"
    "  loam store cp -r store:/users/ann/out/ out       store:/users/ann/out/a -> out/a\n"
    "  loam store cp store:/users/ann/out/a .           -> ./a\n"
    "  loam store cp -r emoji s3://bucket/datasets/     emoji/0.mds -> "
    "s3://bucket/datasets/emoji/0.mds\n"
    "\n"
    "Uploads carry a checksum that the server verifies; downloads appear only when they are "
    "whole.\n"
    "Empty directories are not copied, and links in an uploaded directory are refused.";

}  // namespace

void add_store_cp_command(CLI::App& store, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = store.add_subcommand("cp", "Copy files to or from the store");
  command->footer(kFooter);
  command->add_option("SRC", options->from, "What to copy")->required()->option_text(" ");
  command->add_option("DST", options->to, "Where to")->required()->option_text(" ");
  command->add_flag("-r,--recursive", options->recursive, "Copy a directory with all below it");
  command->add_flag("--json", options->json, "Print JSON: {files, bytes}");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("store cp", run(*options)); });
}

}  // namespace loam::cli
