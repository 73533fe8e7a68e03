// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "loam/commands.h"
#include "loam/direct_commands.h"
#include "loam/direct_store.h"
#include "loam/exit_code.h"

namespace loam::cli {

namespace {

Result<int> run(const DirectSyncOptions& options) {
  if (!is_direct(options.from) && !is_direct(options.to)) {
    return fail(ErrorCode::kInvalidArgument,
                "at least one of SRC and DST must be s3://... or dir:/...; see 'loam store sync "
                "--help'");
  }
  return direct_sync(options);
}

}  // namespace

void add_store_sync_command(CLI::App& store, int& exit_code) {
  const auto options = std::make_shared<DirectSyncOptions>();
  CLI::App* command =
      store.add_subcommand("sync", "Copy what is new between s3://, dir: and a directory");
  command->footer(
      "Copies each file below SRC that DST lacks, has with another size, or has with an older "
      "time.\n"
      "What came down keeps the time that it has in the bucket, so a second run copies nothing.\n"
      "\n"
      "Examples:\n"
      "  loam store sync emoji s3://bucket/datasets/emoji\n"
      "  loam store sync --delete --dry-run s3://bucket/out out");
  command->add_option("SRC", options->from, "A directory, s3://bucket/prefix or dir:/store/prefix")
      ->required()
      ->option_text(" ");
  command->add_option("DST", options->to, "The same")->required()->option_text(" ");
  command->add_flag("--delete", options->remove, "Remove from DST what SRC has not");
  command->add_flag("-n,--dry-run", options->dry_run, "Say what would be done");
  command->add_flag("--size-only", options->size_only, "Compare sizes, not times");
  command->add_flag("--json", options->json, "Print JSON: {files, bytes, unmapped}");
  command->callback([options, &exit_code] { exit_code = finish("store sync", run(*options)); });
}

}  // namespace loam::cli
