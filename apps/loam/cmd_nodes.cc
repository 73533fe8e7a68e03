// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "loam/client.h"
#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/exit_code.h"
#include "loam/json_text.h"
#include "loam/output.h"
#include "loam/table.h"
#include "loam/time_text.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  bool all = false;
  bool json = false;
};

std::string gpus_text(const Json& node) {
  const std::size_t count = member_of(node, "gpus").size();
  if (count == 0) return "";
  std::string out = fmt::format("{} x {}", count, text_of(node, "gpu_class", "?"));
  if (number_of(node, "vram_gb") > 0) out += fmt::format(", {} GB", text_of(node, "vram_gb"));
  return out;
}

void print_nodes(const Json& nodes) {
  Table table({{"NAME"},
               {"ID"},
               {"POOL"},
               {"STATE"},
               {"SLOTS", Align::kRight},
               {"GPUS"},
               {"USD/HOUR", Align::kRight},
               {"LAST CONTACT"}});
  const std::int64_t now = SystemClock().wall_ms();
  for (const Json& node : nodes) {
    const std::string state = text_of(node, "state");
    table.add({{text_of(node, "name")},
               {text_of(node, "id")},
               {text_of(node, "pool")},
               {state, status_style(state)},
               {fmt::format("{}/{}", text_of(node, "slots_busy"), text_of(node, "slots"))},
               {gpus_text(node)},
               {fmt::format("{:.4g}", number_of(node, "price_per_hour"))},
               {age_text(text_of(node, "last_contact"), now), Style::kDim}});
  }
  print_table(table);
}

Result<int> run(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  const Json answer =
      TRY(client.get(options.all ? "/v1/nodes?limit=10000&all=1" : "/v1/nodes?limit=10000"));
  if (options.json) {
    print_json(answer);
    return kExitOk;
  }
  const Json& nodes = member_of(answer, "nodes");
  if (nodes.empty()) {
    note("no nodes; 'loam node' on a machine makes it one\n");
  } else {
    print_nodes(nodes);
  }
  return kExitOk;
}

}  // namespace

void add_nodes_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("nodes", "List nodes");
  command->group(kMachineCommands);
  command->footer("SLOTS is busy/all.\n\nExample:\n  loam nodes --all");
  command->add_flag("--all", options->all, "Nodes that were lost or left, too");
  command->add_flag("--json", options->json, "Print JSON");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("nodes", run(*options)); });
}

}  // namespace loam::cli
