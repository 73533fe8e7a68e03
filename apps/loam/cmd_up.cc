// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "io/file.h"
#include "loam/client_config.h"
#include "loam/commands.h"
#include "loam/output.h"
#include "loam/server_main.h"
#include "loam/signals.h"

extern char** environ;

namespace loam::cli {

namespace {

struct Options {
  ServerOptions server;
  int nodes = 1;
  int slots = 1;
  double price = 0;
  bool no_client_config = false;
};

struct Child {
  std::string name;
  pid_t pid = -1;
};

// A node is a process of its own, as on a real machine: it can be killed without the server.
Result<Child> start_node(const Options& options, const std::string& url, int index) {
  Child child{.name = fmt::format("node-{}", index + 1)};
  const std::string directory = options.server.state_dir + "/" + child.name;
  TRY_VOID(io::make_directories(directory, 0700));
  std::vector<std::string> words{"loam",
                                 "node",
                                 "--server",
                                 url,
                                 "--name",
                                 child.name,
                                 "--pool-token-file",
                                 pool_token_path(options.server.state_dir),
                                 "--dir",
                                 directory,
                                 "--slots",
                                 std::to_string(options.slots),
                                 "--price",
                                 fmt::format("{}", options.price),
                                 "--log-file",
                                 directory + "/log"};
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Ctrl-C in the terminal reaches us only; we drain the nodes in order.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  // A node is on its own: the server's sockets and files are not for it.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  const int error =
      posix_spawn(&child.pid, "/proc/self/exe", &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail(io::error_from_errno(error, "start " + child.name));
  return child;
}

// What 'loam jobs' and the rest read when nothing else tells them where the server is.
Status write_state(const Options& options, const std::string& url,
                   const std::vector<Child>& children) {
  Json nodes = Json::array();
  for (const Child& child : children)
    nodes.push_back({{"name", child.name}, {"pid", child.pid}});
  const Json state{{"server", url},
                   {"token_file", admin_token_path(options.server.state_dir)},
                   {"pid", getpid()},
                   {"nodes", std::move(nodes)}};
  if (!options.no_client_config) {
    std::string token = TRY(io::read_file(admin_token_path(options.server.state_dir), 4'096));
    while (token.ends_with('\n'))
      token.pop_back();
    const std::string path = client_config_path(process_environment());
    if (!path.empty()) TRY_VOID(save_client_config(path, url, token));
  }
  // Last, since scripts take this file for the sign that all is up.
  return io::write_file_atomic(options.server.state_dir + "/up.json", dump_json(state) + "\n",
                               0600);
}

void stop_nodes(std::vector<Child>& children) {
  for (const Child& child : children)
    kill(child.pid, SIGTERM);
  for (const Child& child : children) {
    int status = 0;
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
}

int run(const Options& options) {
  block_stop_signals();
  log_setup({.file = "", .component = "server"});
  auto server = ServerProcess::start(options.server);
  if (!server) {
    note("loam: the server did not start: {}\n", server.error().message);
    return 1;
  }
  const std::string url = (*server)->url();
  std::vector<Child> children;
  for (int i = 0; i < options.nodes; ++i) {
    auto child = start_node(options, url, i);
    if (!child) {
      note("loam: {}\n", child.error().message);
      stop_nodes(children);
      return 1;
    }
    children.push_back(std::move(*child));
  }
  if (const Status written = write_state(options, url, children); !written) {
    note("loam: {}\n", written.error().message);
    stop_nodes(children);
    return 1;
  }
  fmt::print("loam is up: {} with {} node{}\n", url, options.nodes, options.nodes == 1 ? "" : "s");
  fmt::print("In another terminal:  loam submit train.yaml --wait\n");
  fmt::print("Ctrl-C drains the nodes and stops.\n");
  std::fflush(stdout);
  wait_for_stop_signal();
  fmt::print("stopping: programs get their grace period to save; Ctrl-C again ends at once\n");
  std::fflush(stdout);
  stop_nodes(children);
  (*server)->stop();
  return 0;
}

}  // namespace

void add_up_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("up", "Run a server and some nodes on this machine, to try things out");
  command->group(kMachineCommands);
  const char* home = std::getenv("HOME");
  options->server.state_dir = std::string(home != nullptr ? home : "/tmp") + "/.local/share/loam";
  command->add_option("--nodes", options->nodes, "Nodes, each a process of its own")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  command->add_option("--slots", options->slots, "Jobs at a time on each node")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--price", options->price, "What each node costs, USD per hour")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_option("--state-dir", options->server.state_dir, "Everything is kept here")
      ->capture_default_str();
  command->add_option("--port", options->server.port, "Port of the server; 0 picks a free one")
      ->capture_default_str();
  command->add_flag("--no-client-config", options->no_client_config,
                    "Leave the client's configuration file alone");
  options->server.node_heartbeat = std::chrono::seconds(2);
  options->server.node_ttl = std::chrono::seconds(6);
  command->footer(
      "Example:  loam up --nodes 3\n\n"
      "STATE_DIR/up.json tells the server's URL and the process ids of the nodes; their "
      "logs are\nSTATE_DIR/node-N/log.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace loam::cli
