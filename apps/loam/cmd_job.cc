// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/encoding.h"
#include "loam/checkpoint_table.h"
#include "loam/client.h"
#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/event_text.h"
#include "loam/exit_code.h"
#include "loam/json_text.h"
#include "loam/node_names.h"
#include "loam/output.h"
#include "loam/table.h"
#include "loam/time_text.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string job;
  bool json = false;
};

constexpr std::size_t kEventPage = 1'000;
constexpr int kMaxEventPages = 100;
constexpr std::size_t kShownEvents = 15;

// The events come oldest first, so the latest are at the end of the last page.
Result<Json> latest_events(const ApiClient& client, const std::string& job) {
  Json out = Json::array();
  std::int64_t after = 0;
  for (int i = 0; i < kMaxEventPages; ++i) {
    const Json page =
        TRY(client.get(job_path(job, fmt::format("/events?after={}&limit={}", after, kEventPage))));
    const Json& events = member_of(page, "events");
    for (const Json& event : events) {
      out.push_back(event);
      after = whole_of(event, "seq", after);
    }
    if (events.size() < kEventPage) break;
  }
  if (out.size() > kShownEvents) {
    out.erase(out.begin(), out.end() - static_cast<Json::difference_type>(kShownEvents));
  }
  return out;
}

void print_field(std::string_view name, std::string_view value) {
  if (!value.empty()) print("{:<16}{}\n", name, printable(value));
}

std::string time_and_age(const Json& job, std::string_view key, std::int64_t now) {
  const std::string at = text_of(job, key);
  return at.empty() ? at : fmt::format("{} ({})", at, age_text(at, now));
}

void print_job(const Json& job) {
  const bool colour = colour_wanted(stdout);
  const std::int64_t now = SystemClock().wall_ms();
  const std::string status = text_of(job, "status");
  const std::string phase = text_of(job, "phase");
  print("{}  {}  {}{}\n", styled(printable(text_of(job, "name")), Style::kBold, colour),
        text_of(job, "id"), styled(status, status_style(status), colour),
        phase.empty() ? "" : " (" + phase + ")");
  print_field("reason", text_of(job, "reason"));
  print_field("message", text_of(job, "message"));
  print_field("owner", text_of(job, "owner"));
  print_field("pool", text_of(job, "pool"));
  print_field("node", text_of(job, "node_name"));
  print_field("step", text_of(job, "step"));
  print_field("recovery point", text_of(job, "recovery_step").empty()
                                    ? std::string("none: an interruption starts from the beginning")
                                    : "step " + text_of(job, "recovery_step"));
  print_field("interruptions", text_of(job, "num_interruptions"));
  print_field("failures", fmt::format("{} of the program (at most {}), {} of the platform",
                                      text_of(job, "num_failures"), text_of(job, "max_failures"),
                                      text_of(job, "num_platform_failures")));
  print_field("created", time_and_age(job, "created", now));
  print_field("started", time_and_age(job, "started", now));
  print_field("finished", time_and_age(job, "finished", now));
}

std::string ending(const Json& attempt) {
  std::string out = text_of(attempt, "cause");
  const auto add = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) out += fmt::format("{}{}{}", out.empty() ? "" : ", ", what, value);
  };
  add("exit code ", text_of(attempt, "exit_code"));
  add("signal ", text_of(attempt, "signal"));
  add("", text_of(attempt, "message"));
  return out;
}

void print_attempts(const Json& attempts) {
  if (attempts.empty()) return;
  Table table({{"ATTEMPT", Align::kRight},
               {"NODE"},
               {"STATE"},
               {"RESUMED AT", Align::kRight},
               {"STEP", Align::kRight},
               {"STARTED"},
               {"ENDED"},
               {"HOW"}});
  for (const Json& attempt : attempts) {
    const std::string state = text_of(attempt, "state");
    const std::string ended = text_of(attempt, "ended");
    table.add({{text_of(attempt, "epoch")},
               {text_of(attempt, "node_name")},
               {state, status_style(state)},
               {text_of(attempt, "resumed_step")},
               {text_of(attempt, "step")},
               {clock_text(text_of(attempt, "started"))},
               {ended.empty() ? "" : clock_text(ended)},
               {ending(attempt)}});
  }
  print("\n");
  print_table(table);
}

Result<int> run(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  const Json job = TRY(client.get(job_path(options.job)));
  const Json attempts = member_of(TRY(client.get(job_path(options.job, "/attempts"))), "attempts");
  const Json sets =
      member_of(TRY(client.get(job_path(options.job, "/checkpoints"))), "checkpoints");
  const Json events = TRY(latest_events(client, options.job));
  if (options.json) {
    print_json({{"job", job}, {"attempts", attempts}, {"checkpoints", sets}, {"events", events}});
    return kExitOk;
  }
  print_job(job);
  print_attempts(attempts);
  if (const Table table = checkpoint_table(sets); !table.empty()) {
    print("\n");
    print_table(table);
  }
  if (!events.empty()) print("\n");
  NodeNames names(client);
  for (const Json& event : events)
    print("{}\n", event_line(event, std::ref(names), colour_wanted(stdout)));
  return kExitOk;
}

}  // namespace

void add_job_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("job", "Show one job: its attempts, checkpoints and latest events");
  command->group(kJobCommands);
  command->footer("Example:\n  loam job j-0f3k...");
  command->add_option("ID", options->job, "The job")->required()->option_text(" ");
  command->add_flag("--json", options->json, "Print JSON: {job, attempts, checkpoints, events}");
  add_client_flags(*command, options->client);
  command->callback(
      [options, &exit_code] { exit_code = finish("job " + options->job, run(*options)); });
}

}  // namespace loam::cli
