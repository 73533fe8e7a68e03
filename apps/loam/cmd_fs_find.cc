// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/encoding.h"
#include "base/units.h"
#include "loam/client_flags.h"
#include "loam/exit_code.h"
#include "loam/fs_client.h"
#include "loam/fs_commands.h"
#include "loam/interrupt.h"
#include "loam/json_text.h"
#include "loam/output.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string path;
  std::string older_than;
  std::string larger_than;
  bool json = false;
  bool null = false;
};

// "90", "90s", "15m", "12h", "30d" as seconds.
Result<std::int64_t> parse_age(std::string_view text) {
  std::int64_t unit = 1;
  std::string_view digits = text;
  if (!text.empty()) {
    const char last = text.back();
    unit = last == 'm' ? 60 : last == 'h' ? 3'600 : last == 'd' ? 86'400 : 1;
    if (unit != 1 || last == 's') digits.remove_suffix(1);
  }
  const auto value = parse_whole_number(digits);
  if (value && *value <= 4'000'000'000 / unit) return *value * unit;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is no age; write 90s, 15m, 12h or 30d", printable(text)));
}

Result<std::string> find_url(const Options& options) {
  std::string url = fs_url("find", TRY(parse_fs_path(options.path)).path);
  if (!options.older_than.empty()) {
    url += fmt::format("&older_than_s={}", TRY(parse_age(options.older_than)));
  }
  if (!options.larger_than.empty()) {
    url += fmt::format("&larger_than={}", TRY(parse_bytes(options.larger_than)));
  }
  return url;
}

// One hit a line, so that it can go on to another program while the search does.
void print_hits(const Options& options, const Json& hits) {
  for (const Json& hit : hits) {
    const FsEntry entry = entry_from(hit);
    if (options.json) {
      print("{}\n", dump_json(hit));
    } else if (options.null) {
      put(stdout, entry.name + '\0');
    } else {
      print("{:>10}  {}  {}\n", format_bytes(entry.size), entry.mtime, printable(entry.name));
    }
  }
}

Result<int> run(const Options& options) {
  const std::string url = TRY(find_url(options));
  const ApiClient client = TRY(ApiClient::open(options.client));
  std::string next;
  do {
    const Json answer =
        TRY(client.get(next.empty() ? url : url + "&after=" + percent_encode(next, false)));
    print_hits(options, member_of(answer, "hits"));
    next = text_of(answer, "next");
  } while (!next.empty() && !reader_gone());
  return kExitOk;
}

}  // namespace

void add_fs_find_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("find", "Find files by age and size");
  command->footer(
      "Out of an index: only files that fit are looked at. The larger come last, each class of\n"
      "sizes oldest first.\n"
      "\n"
      "Examples:\n"
      "  loam fs find --older-than 30d --larger-than 1G /runs\n"
      "  loam fs find -0 --older-than 90d /users/ann | xargs -0 -n1 loam fs rm");
  command->add_option("PATH", options->path, "Below which directory")->required()->option_text(" ");
  command->add_option("--older-than", options->older_than, "Not changed for: 90s, 15m, 12h, 30d")
      ->option_text("AGE");
  command->add_option("--larger-than", options->larger_than, "More bytes than: 512, 64K, 1G")
      ->option_text("SIZE");
  auto* json = command->add_flag("--json", options->json, "Print JSON, one entry a line");
  command->add_flag("-0,--null", options->null, "Print only paths, each with a NUL after it")
      ->excludes(json);
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs find", run(*options)); });
}

}  // namespace loam::cli
