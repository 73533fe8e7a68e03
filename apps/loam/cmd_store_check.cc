// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/random.h"
#include "base/units.h"
#include "loam/commands.h"
#include "loam/direct_store.h"
#include "loam/exit_code.h"
#include "loam/json_text.h"
#include "loam/output.h"
#include "loam/store_check.h"
#include "loam/table.h"
#include "object/s3_options.h"
#include "object/s3_store.h"

namespace loam::cli {

namespace {

struct Options {
  std::string path;
  std::string size = "64M";
  bool json = false;
};

Status remove_below(object::ObjectStore& store, const std::string& prefix) {
  std::vector<std::string> keys;
  TRY_VOID(object::for_each_object(store, prefix, [&](const object::ObjectInfo& object) -> Status {
    keys.push_back(object.key);
    return {};
  }));
  return store.remove_all(keys);
}

void print_text(const object::S3Store& store, const std::vector<CheckFinding>& findings,
                const CheckSpeed& speed) {
  const bool colour = colour_wanted(stdout);
  print("{}\n", store.describe());
  for (const CheckFinding& finding : findings) {
    print("  {:<15} {} {}\n", finding.name,
          styled(finding.good ? "ok  " : "note", finding.good ? Style::kGood : Style::kWarning,
                 colour),
          finding.found);
    if (!finding.advice.empty()) print("  {:<15}      -> {}\n", "", finding.advice);
  }
  print("  {:<15} ok   put {}/s, get {}/s ({}); 4 KiB: put {}, get {}\n", "speed",
        format_bytes(static_cast<std::int64_t>(speed.put_bytes_per_second)),
        format_bytes(static_cast<std::int64_t>(speed.get_bytes_per_second)),
        format_bytes(speed.bytes), format_duration_us(speed.put_us),
        format_duration_us(speed.get_us));
}

void print_all_json(const std::vector<CheckFinding>& findings, const CheckSpeed& speed) {
  Json list = Json::array();
  for (const CheckFinding& finding : findings) {
    list.push_back({{"name", finding.name},
                    {"good", finding.good},
                    {"found", finding.found},
                    {"advice", finding.advice}});
  }
  print_json({{"findings", list},
              {"put_bytes_per_second", speed.put_bytes_per_second},
              {"get_bytes_per_second", speed.get_bytes_per_second},
              {"put_us", speed.put_us},
              {"get_us", speed.get_us}});
}

Result<int> run(const Options& options) {
  if (!is_s3(options.path)) {
    return fail(ErrorCode::kInvalidArgument, "give s3://bucket/prefix");
  }
  const std::int64_t bytes = TRY(parse_bytes(options.size));
  auto settings = TRY(object::parse_s3_url(options.path, object::process_environment()));
  const auto store = TRY(object::S3Store::open(settings));
  settings.tries = 1;  // refusals are what is looked for
  const auto probe = TRY(object::S3Store::open(std::move(settings)));
  SystemRandom random;
  const std::string prefix = random_id(random, ".loam-check-") + "/";
  const auto findings = check_service(*probe, prefix);
  const auto speed = findings ? measure_service(*store, prefix, bytes)
                              : Result<CheckSpeed>(fail(findings.error()));
  const Status cleaned = remove_below(*store, prefix);
  if (!speed) return fail(speed.error());
  TRY_VOID(cleaned);
  if (options.json) {
    print_all_json(*findings, *speed);
  } else {
    print_text(*store, *findings, *speed);
  }
  return kExitOk;
}

}  // namespace

void add_store_check_command(CLI::App& store, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      store.add_subcommand("check", "What an S3 service can do, and how fast it is");
  command->footer(
      "Tries out on objects below .loam-check-... , which are removed again: credentials, clock,\n"
      "preconditions, checksums, multipart uploads, odd keys, the order of lists; then measures. "
      "Where\n"
      "something is worth changing, it says what.\n"
      "\n"
      "Examples:\n"
      "  loam store check s3://bucket/loam\n"
      "  loam store check --json 's3://bucket?endpoint=http://127.0.0.1:7480'");
  command->add_option("URL", options->path, "s3://bucket/prefix?options")
      ->required()
      ->option_text(" ");
  command->add_option("--size", options->size, "Bytes to measure with")->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON: {findings, ...}");
  command->callback([options, &exit_code] { exit_code = finish("store check", run(*options)); });
}

}  // namespace loam::cli
