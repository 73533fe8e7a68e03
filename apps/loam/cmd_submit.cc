// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/random.h"
#include "base/units.h"
#include "io/file.h"
#include "jobs/job_spec.h"
#include "jobs/workdir.h"
#include "loam/client.h"
#include "loam/client_flags.h"
#include "loam/commands.h"
#include "loam/exit_code.h"
#include "loam/job_file.h"
#include "loam/job_watch.h"
#include "loam/json_text.h"
#include "loam/output.h"
#include "loam/workdir_scan.h"
#include "loam/workdir_upload.h"

namespace loam::cli {

namespace {

struct Options {
  ClientFlags client;
  std::string file;
  std::vector<std::string> parameters;
  std::string name;
  std::string idempotency_key;
  bool wait = false;
  bool json = false;
  bool dry_run = false;
};

// A job as it will be sent, but for the upload of its work directory.
struct Prepared {
  Json job;
  Json secrets;
  std::string root;  // of the work directory; empty if there is nothing to upload
  std::vector<jobs::WorkdirFile> files;
};

// Standard input cannot be read at an offset, so it is not a file like others here.
Result<std::string> read_stdin() {
  std::string out(jobs::kMaxJobFileBytes + 1, '\0');
  out.resize(std::fread(out.data(), 1, out.size(), stdin));
  if (std::ferror(stdin) != 0) return fail(ErrorCode::kInternal, "stdin cannot be read");
  return out;
}

// A job file that is not there is a wrong argument.
Result<std::string> read_job_file(const std::string& path) {
  if (path == "-") return read_stdin();
  auto text = io::read_file(path, static_cast<std::int64_t>(jobs::kMaxJobFileBytes));
  if (!text && text.error().code == ErrorCode::kNotFound) {
    return fail(ErrorCode::kInvalidArgument, text.error().message);
  }
  return text;
}

Result<Prepared> prepare(const Options& options) {
  Prepared out;
  out.job = TRY(jobs::job_file_to_json(TRY(read_job_file(options.file))));
  if (!out.job.is_object()) {
    return fail(ErrorCode::kInvalidArgument, "a job file must be a mapping of keys to values");
  }
  if (!options.name.empty()) out.job["name"] = options.name;
  TRY_VOID(set_parameters(out.job, options.parameters));
  out.secrets = TRY(secret_values(out.job, process_environment()));
  if (const auto root = TRY(workdir_root(out.job, options.file))) {
    out.root = *root;
    const IgnoreRules rules = TRY(read_ignore_rules(out.root));
    out.files = TRY(scan_workdir(out.root, rules));
    out.job["workdir"] = jobs::workdir_id(out.files);
  }
  // What is wrong with the file shows before anything is uploaded.
  TRY(jobs::parse_job_spec(out.job));
  return out;
}

Result<int> dry_run(const Prepared& prepared) {
  const jobs::JobSpec spec = TRY(jobs::parse_job_spec(prepared.job));
  print_json(spec.to_json());
  if (!prepared.root.empty()) {
    note("the work directory {} has {} files, {}:\n", prepared.root, prepared.files.size(),
         format_bytes(total_bytes(prepared.files)));
    for (const jobs::WorkdirFile& file : prepared.files)
      note("  {:>12}  {}\n", file.size, file.path);
  }
  note("nothing was sent\n");
  return kExitOk;
}

Result<Json> send(const ApiClient& client, const Options& options, Prepared& prepared) {
  if (!prepared.root.empty()) {
    prepared.job["workdir"] = TRY(upload_workdir(client, prepared.root, prepared.files));
  }
  if (!prepared.secrets.empty()) prepared.job["secret_values"] = prepared.secrets;
  // With a key the server knows a repeated call for what it is, so a lost answer makes no second
  // job.
  SystemRandom random;
  CallOptions call{.repeat = Repeat::kSafe};
  call.headers.set("Idempotency-Key", options.idempotency_key.empty() ? random_token(random, 16)
                                                                      : options.idempotency_key);
  return client.call("POST", "/v1/jobs", prepared.job, call);
}

void print_summary(const Json& job, std::FILE* out) {
  std::string text = fmt::format("{} {}", text_of(job, "id"), text_of(job, "status"));
  if (const std::string step = text_of(job, "step"); !step.empty()) text += " at step " + step;
  const std::int64_t interruptions = whole_of(job, "num_interruptions");
  put(out, fmt::format("{}, {} interruption{}; 'loam report {}' shows the cost\n", text,
                       interruptions, interruptions == 1 ? "" : "s", text_of(job, "id")));
}

Result<int> run(const Options& options) {
  Prepared prepared = TRY(prepare(options));
  if (options.dry_run) return dry_run(prepared);
  const ApiClient client = TRY(ApiClient::open(options.client));
  Json job = TRY(send(client, options, prepared));
  const std::string id = text_of(job, "id");
  if (!options.json) print("{}\n", id);
  note("submitted {}; 'loam logs -f {}' follows its output\n", text_of(job, "name"), id);
  flush(stdout);
  if (options.wait) {
    // Whoever reads JSON gets nothing else on stdout.
    auto ended = watch_job(client, id, options.json ? stderr : stdout);
    if (!ended && ended.error().code == ErrorCode::kCanceled) {
      note("loam: the job goes on; 'loam cancel {}' stops it\n", id);
    }
    job = TRY(std::move(ended));
    print_summary(job, options.json ? stderr : stdout);
  }
  if (options.json) print_json(job);
  return options.wait ? exit_code_of_job(job) : kExitOk;
}

constexpr const char* kFooter =
    "The id of the job goes to stdout. 'workdir' in the file is a path relative to the file; what "
    "it\n"
    "holds is uploaded by content, minus what its .loamignore lists. The values of 'secrets' are "
    "taken\n"
    "from the environment. The answer to a submission that was repeated is the first job, not a "
    "second.\n"
    "\n"
    "Exit codes with --wait: 0 completed, 1 failed, 3 canceled, 4 the server does not answer.\n"
    "\n"
    "Examples:\n"
    "  loam submit train.yaml -p steps=1400 -p learning_rate=3e-4\n"
    "  loam submit train.yaml --wait && loam store cp -r store:/users/ann/models/emoji/ out\n"
    "  loam submit train.yaml --dry-run";

}  // namespace

void add_submit_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("submit", "Submit a job file (YAML or JSON)");
  command->group(kJobCommands);
  command->footer(kFooter);
  command->add_option("FILE", options->file, "The job file; '-' is stdin")
      ->required()
      ->option_text(" ");
  command
      ->add_option("-p,--parameter", options->parameters,
                   "Set a parameter that the file declares; may be given again")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--name", options->name, "Another name than the file's")->type_name("NAME");
  command->add_flag("--wait", options->wait, "Follow the job until it has ended");
  command->add_flag("--json", options->json, "Print the job as JSON");
  command->add_flag("--dry-run", options->dry_run, "Check the file and print what would be sent");
  command
      ->add_option("--idempotency-key", options->idempotency_key,
                   "A name for this submission: with the same key again, no second job is made")
      ->type_name("KEY");
  add_client_flags(*command, options->client);
  command->callback(
      [options, &exit_code] { exit_code = finish("submit " + options->file, run(*options)); });
}

}  // namespace loam::cli
