// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "loam/commands.h"
#include "loam/output.h"
#include "loam/server_main.h"
#include "loam/signals.h"
#include "loam/version.h"

namespace loam::cli {

namespace {

struct Options {
  ServerOptions server;
  double node_heartbeat = 30;
  double node_ttl = 75;
  double sweep_grace = 3'600;
  std::int64_t group_commit_ms = 50;
  std::string tls_certificate;
  std::string tls_key;
  std::string log_file;
  bool log_json = false;
};

std::chrono::milliseconds ms(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
}

// Certificates are renewed by other programs, which replace the files and may or may not send
// SIGHUP.
void keep_certificate_fresh(std::shared_ptr<net::TlsIdentity> tls) {
  on_hangup_or_every(std::chrono::seconds(1), [tls = std::move(tls)](bool asked) {
    if (!asked && !tls->changed()) return;
    if (const Status reloaded = tls->reload(); !reloaded) {
      LOG_WARN("the certificate in use stays: {}", reloaded.error().message);
    } else {
      LOG_INFO("new connections see the certificate as its files have it now");
    }
  });
}

// With a certificate, SIGHUP reloads it from here on.
Status set_up_tls(Options& options) {
  if (options.tls_certificate.empty() && options.tls_key.empty()) return {};
  block_hangup();
  options.server.tls = TRY(net::TlsIdentity::load(options.tls_certificate, options.tls_key));
  keep_certificate_fresh(options.server.tls);
  return {};
}

int run(Options options) {
  block_stop_signals();
  log_setup({.file = options.log_file, .json = options.log_json, .component = "server"});
  options.server.node_heartbeat = ms(options.node_heartbeat);
  options.server.node_ttl = ms(options.node_ttl);
  options.server.sweep_grace = ms(options.sweep_grace);
  options.server.group_commit = std::chrono::milliseconds(options.group_commit_ms);
  if (const Status tls = set_up_tls(options); !tls) {
    note("loam: the server did not start: {}\n", tls.error().message);
    return 2;
  }
  auto server = ServerProcess::start(options.server);
  if (!server) {
    note("loam: the server did not start: {}\n", server.error().message);
    return 1;
  }
  fmt::print("loam server {} listens on {}\n", version(), (*server)->url());
  fmt::print("admin token: {}\npool token:  {}\n", admin_token_path(options.server.state_dir),
             pool_token_path(options.server.state_dir));
  std::fflush(stdout);
  wait_for_stop_signal();
  LOG_INFO("stopping");
  (*server)->stop();
  return 0;
}

}  // namespace

void add_server_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "server", "Run a server: the jobs API, the fleet's bookkeeping and access to the store");
  command->group(kMachineCommands);
  options->server.state_dir = "/var/lib/loam";
  command
      ->add_option("--state-dir", options->server.state_dir,
                   "Database, keys and tokens; made at first start")
      ->capture_default_str();
  command
      ->add_option("--db", options->server.db,
                   "sqlite:PATH (default: STATE_DIR/loam.db), or postgresql://USER@HOST/DATABASE, "
                   "which several servers may share")
      ->envname("LOAM_DB");
  command->add_option(
      "--key-file", options->server.key_file,
      "With PostgreSQL: a key file that all servers are given, so that the database "
      "does not hold the key");
  command->add_option(
      "--store", options->server.store,
      "Where files are kept: a directory or s3://BUCKET/PREFIX?OPTIONS, with credentials "
      "as the AWS tools find them (default: STATE_DIR/store)");
  command->add_option("--listen", options->server.address, "Address to listen on")
      ->capture_default_str();
  command->add_option("--port", options->server.port, "Port; 0 picks a free one")
      ->capture_default_str();
  command
      ->add_option("--node-heartbeat", options->node_heartbeat,
                   "Seconds between the heartbeats of an idle node")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command
      ->add_option("--node-ttl", options->node_ttl,
                   "Seconds of silence after which a node counts as lost")
      ->check(CLI::Range(0.3, 86'400.0))
      ->capture_default_str();
  command
      ->add_option("--sweep-grace", options->sweep_grace,
                   "Seconds before what ended attempts left in the store is deleted")
      ->check(CLI::Range(0.1, 1e9))
      ->capture_default_str();
  command
      ->add_option("--group-commit-ms", options->group_commit_ms,
                   "How long a renewal may wait to share a commit with others")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  auto* certificate = command->add_option(
      "--tls-cert", options->tls_certificate,
      "PEM file of the certificate for https, and of those that lead to its authority");
  auto* key = command->add_option("--tls-key", options->tls_key,
                                  "PEM file of its private key, readable by its owner only");
  certificate->needs(key)->type_name("FILE");
  key->needs(certificate)->type_name("FILE");
  command->add_option("--log-file", options->log_file, "Log here instead of standard error");
  command->add_flag("--log-json", options->log_json, "Log lines as JSON");
  command->footer(
      "The first start makes STATE_DIR/admin.token (for people) and STATE_DIR/pool.token (for\n"
      "'loam node'), both readable by you only. SIGTERM stops it; jobs run on meanwhile and their\n"
      "leases stand still until it is back. A certificate that is replaced in its files, or "
      "SIGHUP,\n"
      "is taken up by new connections; open ones go on.\n\n"
      "A password in the --db URL is wiped from the process list, but is better put into "
      "PGPASSWORD\n"
      "or a password file (PGPASSFILE, ~/.pgpass).\n\n"
      "Example:  loam server --state-dir /srv/loam --listen 0.0.0.0\n"
      "          loam server --db postgresql://loam@db.example/loam --store /mnt/shared/loam");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace loam::cli
