// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "base/encoding.h"
#include "loam/client.h"
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
  bool objects = false;
  bool json = false;
};

constexpr std::chrono::milliseconds kDeadline{3'600'000};

Result<Json> check(const ApiClient& client, const std::string& path) {
  return client.call("GET", path, Json(), {.repeat = Repeat::kSafe, .deadline = kDeadline});
}

// What the store has lost or changed, page by page.
Result<Json> check_objects(const ApiClient& client) {
  Json problems = Json::array();
  std::int64_t after = 0;
  while (true) {
    const Json page = TRY(check(client, fmt::format("/v1/fs/check_objects?after={}", after)));
    for (const Json& problem : member_of(page, "problems"))
      problems.push_back(problem);
    if (member_of(page, "next_after").is_null()) return problems;
    after = whole_of(page, "next_after");
  }
}

void print_problems(const Json& answer) {
  for (const Json& problem : answer.at("problems"))
    print("{}\n", printable(problem.is_string() ? problem.get<std::string>() : ""));
  for (const Json& problem : answer.at("objects"))
    print("{}: {}\n", printable(entry_from(problem).name), printable(text_of(problem, "problem")));
}

Result<int> run(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  Json answer = TRY(check(client, "/v1/fs/check"));
  answer["objects"] = options.objects ? TRY(check_objects(client)) : Json::array();
  const std::size_t count = answer.at("problems").size() + answer.at("objects").size();
  if (options.json) {
    print_json(answer);
  } else {
    print_problems(answer);
    note("{} problem{} found\n", count, count == 1 ? "" : "s");
  }
  return count == 0 ? kExitOk : kExitFailed;
}

}  // namespace

void add_fs_fsck_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("fsck", "Check the namespace's tables against their rules");
  command->footer(
      "Reads every table in one snapshot; others work on meanwhile. The exit code is 1 if "
      "anything\n"
      "is wrong. With --objects the store is asked for every object that files need, too.\n"
      "\n"
      "Examples:\n  loam fs fsck\n  loam fs fsck --objects --json");
  command->add_flag("--objects", options->objects, "Look for each object in the store");
  command->add_flag("--json", options->json, "Print JSON: {problems, objects}");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs fsck", run(*options)); });
}

}  // namespace loam::cli
