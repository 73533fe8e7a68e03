// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "agent/node_agent.h"
#include "base/log.h"
#include "io/file.h"
#include "loam/commands.h"
#include "loam/output.h"
#include "loam/signals.h"
#include "loam/version.h"

namespace loam::cli {

namespace {

struct Options {
  agent::NodeOptions node;
  std::string token_file;
  std::string log_file;
  bool log_json = false;
};

Result<std::string> pool_token(const std::string& file) {
  if (const char* token = std::getenv("LOAM_POOL_TOKEN"); token != nullptr && file.empty()) {
    return std::string(token);
  }
  if (file.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "no pool token; give --pool-token-file or set LOAM_POOL_TOKEN");
  }
  std::string token = TRY(io::read_file(file, 4'096));
  while (token.ends_with('\n'))
    token.pop_back();
  return token;
}

int run(Options options) {
  block_stop_signals();
  log_setup({.file = options.log_file,
             .json = options.log_json,
             .component = "node " + options.node.name});
  auto token = pool_token(options.token_file);
  if (!token) {
    note("loam: the node did not start: {}\n", token.error().message);
    return 2;
  }
  options.node.pool_token = std::move(*token);
  options.node.version = std::string(version());
  const SystemClock clock;
  SystemRandom random;
  const auto http = net::make_curl_client();
  agent::NodeAgent node(*http, clock, random, options.node);
  on_stop_signal([&node] { node.drain(); });
  const Status status = node.run();
  if (!status && status.error().code != ErrorCode::kCanceled) {
    note("loam: the node ended: {}\n", status.error().message);
    return 1;
  }
  return 0;
}

}  // namespace

void add_node_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("node", "Lend this machine's GPUs to jobs: enrol with a server and work");
  options->node.server_url = "http://127.0.0.1:7070";
  options->node.directory = "/var/lib/loam-node";
  command->group(kMachineCommands);
  command
      ->add_option("--server", options->node.server_url,
                   "URL of the server, or of several over one database: URL1,URL2")
      ->envname("LOAM_SERVER")
      ->capture_default_str();
  command->add_option("--pool-token-file", options->token_file,
                      "File with the pool token (else LOAM_POOL_TOKEN)");
  command
      ->add_option("--ca-file", options->node.ca_file,
                   "PEM file of the authority behind an https server (default: those that this "
                   "system trusts)")
      ->envname("LOAM_CA_FILE");
  command->add_option("--name", options->node.name, "Name shown to people (default: host name)");
  command
      ->add_option("--dir", options->node.directory,
                   "Work directories of attempts; belongs to this node alone")
      ->capture_default_str();
  command
      ->add_option("--slots", options->node.slots, "Jobs at a time (default: one per GPU, or one)")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--price", options->node.price_per_hour, "What this machine costs, USD per hour")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--log-file", options->log_file, "Log here instead of standard error");
  command->add_flag("--log-json", options->log_json, "Log lines as JSON");
  command->footer(
      "SIGTERM (or Ctrl-C) drains: programs get SIGTERM and the job's grace period to save, the "
      "last\n"
      "checkpoint is committed, leases are given back, and the node leaves. Twice ends it at "
      "once;\n"
      "each program's watchdog then ends the program.\n\n"
      "Example:  loam node --server http://loam.example:7070 --pool-token-file pool.token --price "
      "0.32");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace loam::cli
