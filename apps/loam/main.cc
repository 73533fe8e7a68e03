// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "base/encoding.h"
#include "base/nearest.h"
#include "db/postgres_url.h"
#include "loam/commands.h"
#include "loam/exit_code.h"
#include "loam/output.h"
#include "loam/version.h"

namespace loam::cli {

namespace {

constexpr const char* kDescription =
    "Loam runs AI training on interruptible GPU machines: jobs survive the loss of their machine,\n"
    "checkpoints are safe in the store, and every dollar and GPU second is accounted for.\n";

constexpr const char* kFooter =
    "Examples:\n"
    "  loam up --nodes 2                        a server and two nodes on this machine\n"
    "  loam submit train.yaml -p steps=1400     submit a job\n"
    "  loam logs -f j-0f3k...                   follow its output\n"
    "  loam report j-0f3k...                    what it cost, and where the time went\n"
    "\n"
    "Exit codes:\n"
    "  0  done; with 'submit --wait': the job completed\n"
    "  1  failed; with 'submit --wait': the job failed\n"
    "  2  wrong use: an argument or a job file that can never work\n"
    "  3  with 'submit --wait': the job was canceled\n"
    "  4  the server does not answer\n"
    "  130  interrupted (Ctrl-C)\n"
    "\n"
    "Environment:\n"
    "  LOAM_SERVER  the server's URL      LOAM_TOKEN  the token      NO_COLOR  no colours\n"
    "  Without them ${XDG_CONFIG_HOME:-~/.config}/loam/client.json is used, which 'loam up' "
    "writes.\n"
    "\n"
    "'loam COMMAND --help' explains a command, with examples.";

void add_commands(CLI::App& app, int& exit_code) {
  for (const auto add :
       {add_up_command, add_server_command, add_node_command, add_watchdog_command,
        add_submit_command, add_jobs_command, add_job_command, add_logs_command, add_events_command,
        add_cancel_command, add_retry_command, add_checkpoints_command, add_report_command,
        add_nodes_command, add_fs_command, add_store_command, add_token_command, add_db_command}) {
    add(app, exit_code);
  }
}

// "submit" or "store cp": the command that was being read.
std::string command_name(const CLI::App& app) {
  std::string out;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    out += (out.empty() ? "" : " ") + at->get_name();
  }
  return out;
}

// What is quoted of words that were not expected. Behind an option that there is not its value may
// follow, and that may be a token or a password.
std::string unexpected_words(const std::string& problem) {
  const std::size_t colon = problem.find(": ");
  if (colon == std::string::npos) return problem;
  std::string options;
  std::istringstream words(problem.substr(colon + 2));
  for (std::string word; words >> word;) {
    if (word.starts_with('-')) options += " " + word.substr(0, word.find('='));
  }
  return options.empty() ? problem : problem.substr(0, colon + 1) + options;
}

int usage_error(const CLI::App& app, const std::string& problem) {
  const std::string name = command_name(app);
  note("loam: {}{}; see 'loam {}--help'\n", name.empty() ? "" : name + ": ", printable(problem),
       name.empty() ? "" : name + " ");
  return kExitUsage;
}

// CLI11 says of a word it does not know only that it did not expect it.
bool refuse_unknown_command(const CLI::App& app, const std::string& word, int& exit_code) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == word) return false;
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const auto nearest = nearest_name(word, candidates);
  exit_code = usage_error(
      app, nearest ? fmt::format("there is no command '{}'; did you mean '{}'?", word, *nearest)
                   : fmt::format("there is no command '{}'", word));
  return true;
}

int run(int argc, char** argv) {
  CLI::App app(kDescription, "loam");
  int exit_code = kExitOk;
  add_commands(app, exit_code);
  // Set after the commands were added: they would inherit all of this.
  app.set_version_flag("--version", fmt::format("loam {}", version()));
  app.footer(kFooter);
  app.require_subcommand(1);
  if (argc < 2) {
    print("{}", app.help());
    return kExitUsage;
  }
  if (argv[1][0] != '-' && refuse_unknown_command(app, argv[1], exit_code)) return exit_code;
  // CLI11 reports by exception; none leaves this function.
  try {
    // The words are copied, so that a database's password does not stay in the process list.
    const std::vector<std::string> words(argv, argv + argc);
    std::vector<const char*> copies;
    for (const std::string& word : words)
      copies.push_back(word.c_str());
    for (int i = 1; i < argc; ++i)
      db::blot_passwords(argv[i]);
    app.parse(argc, copies.data());
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ExtrasError& problem) {
    return usage_error(app, unexpected_words(problem.what()));
  } catch (const CLI::ParseError& problem) {
    return usage_error(app, problem.what());
  }
  return exit_code;
}

}  // namespace

}  // namespace loam::cli

int main(int argc, char** argv) {
  return loam::cli::run(argc, argv);
}
