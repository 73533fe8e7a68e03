// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/encoding.h"
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
  std::string status;
  std::string name;
  std::string pool;
  std::string owner;
  std::int64_t limit = 50;
  bool all = false;
  bool json = false;
};

// The server gives out at most this many at once.
constexpr std::int64_t kMaxPage = 1'000;

std::string list_url(const Options& options, std::int64_t limit, const std::string& cursor) {
  std::string url = fmt::format("/v1/jobs?limit={}", limit);
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) url += fmt::format("&{}={}", key, percent_encode(value, false));
  };
  add("status", options.status);
  add("name", options.name);
  add("pool", options.pool);
  add("owner", options.owner);
  add("cursor", cursor);
  return url;
}

struct Page {
  Json jobs = Json::array();
  bool more = false;
};

Result<Page> fetch(const ApiClient& client, const Options& options) {
  Page out;
  std::string cursor;
  do {
    const std::int64_t left = options.limit - static_cast<std::int64_t>(out.jobs.size());
    const std::int64_t limit = options.all ? kMaxPage : std::min(left, kMaxPage);
    const Json page = TRY(client.get(list_url(options, limit, cursor)));
    for (const Json& job : member_of(page, "jobs"))
      out.jobs.push_back(job);
    cursor = text_of(page, "next_cursor");
  } while (!cursor.empty() &&
           (options.all || static_cast<std::int64_t>(out.jobs.size()) < options.limit));
  out.more = !cursor.empty();
  return out;
}

void print_jobs(const Json& jobs) {
  Table table({{"ID"},
               {"NAME"},
               {"STATUS"},
               {"PHASE"},
               {"STEP", Align::kRight},
               {"SAFE", Align::kRight},
               {"INTERRUPTED", Align::kRight},
               {"FAILED", Align::kRight},
               {"NODE"},
               {"OWNER"},
               {"CREATED"}});
  const std::int64_t now = SystemClock().wall_ms();
  for (const Json& job : jobs) {
    const std::string status = text_of(job, "status");
    const std::string phase = text_of(job, "phase", text_of(job, "reason"));
    table.add({{text_of(job, "id")},
               {text_of(job, "name")},
               {status, status_style(status)},
               {phase, status_style(phase)},
               {text_of(job, "step")},
               {text_of(job, "recovery_step")},
               {text_of(job, "num_interruptions")},
               {text_of(job, "num_failures")},
               {text_of(job, "node_name")},
               {text_of(job, "owner")},
               {age_text(text_of(job, "created"), now), Style::kDim}});
  }
  print_table(table);
}

Result<int> run(const Options& options) {
  const ApiClient client = TRY(ApiClient::open(options.client));
  const Page page = TRY(fetch(client, options));
  if (options.json) {
    print_json({{"jobs", page.jobs}, {"more", page.more}});
    return kExitOk;
  }
  if (page.jobs.empty()) {
    note("no jobs; 'loam submit FILE' submits one\n");
    return kExitOk;
  }
  print_jobs(page.jobs);
  if (page.more) note("there are more; --all or --limit shows them\n");
  return kExitOk;
}

}  // namespace

void add_jobs_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("jobs", "List jobs, the newest first");
  command->group(kJobCommands);
  command->footer(
      "SAFE is the step of the newest checkpoint in the store: an interruption costs no more than "
      "what\n"
      "came after it. INTERRUPTED counts losses of machines, FAILED counts failures of the "
      "program.\n"
      "\n"
      "Examples:\n"
      "  loam jobs --status running\n"
      "  loam jobs --name emoji-diffusion --all --json");
  command->add_option("--status", options->status, "Only jobs of this status")
      ->type_name("STATUS")
      ->check(CLI::IsMember({"pending", "running", "completed", "canceled", "failed"}))
      ->option_text("pending|running|completed|canceled|failed");
  command->add_option("--name", options->name, "Only jobs of this name")->type_name("NAME");
  command->add_option("--pool", options->pool, "Only jobs for this pool")->type_name("POOL");
  command->add_option("--owner", options->owner, "Only this owner's jobs (for the admin)")
      ->type_name("OWNER");
  command->add_option("--limit", options->limit, "How many at most")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  command->add_flag("--all", options->all, "All of them, however many");
  command->add_flag("--json", options->json, "Print JSON");
  add_client_flags(*command, options->client);
  command->callback([options, &exit_code] { exit_code = finish("jobs", run(*options)); });
}

}  // namespace loam::cli
