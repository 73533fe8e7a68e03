// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "base/encoding.h"
#include "loam/client.h"
#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/event_stream.h"
#include "loam/event_text.h"
#include "loam/exit_code.h"
#include "loam/json_text.h"
#include "loam/node_names.h"
#include "loam/output.h"

namespace loam::cli {

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  ClientFlags client;
  std::string job;
  bool follow = false;
  bool json = false;
};

// The server streams all there is and then waits; this much silence means that it has come to the
// end.
constexpr std::chrono::milliseconds kQuiet{1'500};
constexpr std::chrono::milliseconds kStall{60'000};

Result<int> run(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  // A stream about a job that is not there would be silent for ever.
  if (!options.job.empty()) TRY(client.get(job_path(options.job)));
  NodeNames names(client);
  const bool colour = colour_wanted(stdout);
  StreamOptions stream{.path = "/v1/events", .stall_timeout = kStall};
  // The history of one job is short, that of all is not: those who follow all want what comes.
  const bool history = !options.follow || !options.job.empty();
  std::string separator = "?";
  if (history) stream.path += std::exchange(separator, "&") + "after=0";
  if (!options.job.empty()) stream.path += separator + "job=" + percent_encode(options.job, false);
  Clock::time_point last = Clock::now();
  if (!options.follow) stream.stop = [&] { return Clock::now() - last > kQuiet; };
  TRY_VOID(follow_stream(client, stream, [&](const SseEvent& sse) -> Result<Next> {
    const Json event = TRY(parse_json(sse.data));
    const std::string job = text_of(event, "job");
    if (options.json) {
      print("{}\n", dump_json(event));
    } else if (options.job.empty() && !job.empty()) {
      print("{}  {}\n", event_line(event, std::ref(names), colour),
            styled(job, Style::kDim, colour));
    } else {
      print("{}\n", event_line(event, std::ref(names), colour));
    }
    last = Clock::now();
    // A reader that has gone (`| head`) ends the command.
    return flush(stdout) ? Next::kMore : Next::kStop;
  }));
  return kExitOk;
}

}  // namespace

void add_events_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("events", "What happened to jobs and nodes");
  command->group(kJobCommands);
  command->footer(
      "Without -f it prints the history and ends. With -f it goes on: after the history of one "
      "job, or\n"
      "with whatever happens from now on.\n"
      "\n"
      "Examples:\n"
      "  loam events --job j-0f3k...\n"
      "  loam events -f --json | jq 'select(.type == \"node.lost\")'");
  command->add_flag("-f,--follow", options->follow, "Go on until interrupted");
  command->add_option("--job", options->job, "Only this job's events")->type_name("ID");
  command->add_flag("--json", options->json, "Print JSON, one event a line");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("events", run(*options)); });
}

}  // namespace loam::cli
