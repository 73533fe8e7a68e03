// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/encoding.h"
#include "loam/commands.h"
#include "loam/direct_store.h"
#include "loam/exit_code.h"
#include "loam/json_text.h"
#include "loam/output.h"
#include "object/multipart.h"
#include "object/s3_options.h"
#include "object/upload_sweep.h"

namespace loam::cli {

namespace {

struct Options {
  std::string path;
  bool abort = false;
  double older_than_hours = 24;
  bool json = false;
};

Result<int> run(const Options& options) {
  if (!is_s3(options.path)) {
    return fail(ErrorCode::kInvalidArgument, "give s3://bucket/prefix");
  }
  const DirectEnd end = TRY(parse_direct(options.path));
  const auto store = TRY(open_direct(end));
  const std::chrono::milliseconds age(
      static_cast<std::int64_t>(options.older_than_hours * 3'600'000));
  const object::SweptUploads swept =
      TRY(object::sweep_uploads(*store, end.prefix(), age, options.abort));
  if (options.json) {
    Json uploads = Json::array();
    for (const object::PendingUpload& upload : swept.old) {
      Json one = {{"upload_id", upload.upload_id}, {"started", format_utc(upload.started_ms)}};
      set_key(one, upload.key);
      uploads.push_back(std::move(one));
    }
    print_json({{"uploads", uploads}, {"aborted", swept.aborted}, {"younger", swept.younger}});
    return kExitOk;
  }
  for (const object::PendingUpload& upload : swept.old)
    print("{}  {}\n", format_utc(upload.started_ms), printable(end.text(upload.key)));
  note("{} unfinished uploads that old, {} aborted; {} younger\n", swept.old.size(), swept.aborted,
       swept.younger);
  return kExitOk;
}

}  // namespace

void add_store_uploads_command(CLI::App& store, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      store.add_subcommand("uploads", "List or abort uploads to s3:// that never finished");
  command->footer(
      "Unfinished multipart uploads cost money and appear in no listing. Uploads still going on "
      "are\n"
      "among them, so --older-than should be longer than any upload takes.\n"
      "\n"
      "Examples:\n"
      "  loam store uploads s3://bucket/loam\n"
      "  loam store uploads --abort --older-than 48 s3://bucket/loam");
  command->add_option("PATH", options->path, "s3://bucket/prefix")->required()->option_text(" ");
  command->add_flag("--abort", options->abort, "Abort them");
  command->add_option("--older-than", options->older_than_hours, "Hours since they began")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON: {uploads, aborted, younger}");
  command->callback([options, &exit_code] { exit_code = finish("store uploads", run(*options)); });
}

}  // namespace loam::cli
