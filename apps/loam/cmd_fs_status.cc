// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/units.h"
#include "loam/client.h"
#include "loam/client_flags.h"
#include "loam/exit_code.h"
#include "loam/fs_commands.h"
#include "loam/json_text.h"
#include "loam/output.h"
#include "loam/table.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  bool json = false;
};

void print_sessions(const Json& sessions) {
  Table table({{"SESSION"},
               {"EPOCH", Align::kRight},
               {"CHANGES BEHIND", Align::kRight},
               {"WRITING", Align::kRight},
               {"ENDS IN", Align::kRight}});
  for (const Json& one : sessions) {
    table.add({{text_of(one, "node")},
               {std::to_string(whole_of(one, "epoch"))},
               {std::to_string(whole_of(one, "behind"))},
               {std::to_string(whole_of(one, "reserved"))},
               {format_duration_us(whole_of(one, "left_ms") * 1'000)}});
  }
  if (!table.empty()) print_table(table);
}

void print_losses(const Json& losses) {
  Table table({{"LOST AT"},
               {"INODE", Align::kRight},
               {"GENERATION", Align::kRight},
               {"SIZE", Align::kRight},
               {"NODE"},
               {"RESTORED"}});
  for (const Json& one : losses) {
    table.add({{text_of(one, "at")},
               {std::to_string(whole_of(one, "inode"))},
               {std::to_string(whole_of(one, "generation"))},
               {format_bytes(whole_of(one, "bytes"))},
               {text_of(one, "node")},
               {member_of(one, "restored").is_null() ? std::string("empty")
                                                     : std::to_string(whole_of(one, "restored"))}});
  }
  if (!table.empty()) print_table(table);
}

Result<int> run(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  const Json status = TRY(client.get("/v1/fs/status"));
  if (options.json) {
    print_json(status);
    return kExitOk;
  }
  const Json& objects = member_of(status, "objects");
  for (const char* state : {"writing", "staged", "stored", "retired", "deleted"})
    print("objects {:<11} {}\n", state, whole_of(objects, state));
  print("orphaned files      {}\n", whole_of(status, "orphans"));
  print("usage to hand up    {}\n", whole_of(status, "unfolded"));
  print("overwritten unseen  {}\n", whole_of(status, "conflicts"));
  print("losses              {}\n", whole_of(status, "loss_count"));
  print_sessions(member_of(status, "sessions"));
  print_losses(member_of(status, "losses"));
  return kExitOk;
}

}  // namespace

void add_fs_status_command(CLI::App& fs, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = fs.add_subcommand("status", "Show the namespace as a whole, for operators");
  command->footer("Examples:\n  loam fs status\n  loam fs status --json | jq .objects");
  command->add_flag("--json", options->json, "Print JSON");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("fs status", run(*options)); });
}

}  // namespace loam::cli
