// SPDX-License-Identifier: Apache-2.0
#include "agent/attempt_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/process_tree.h"
#include "base/log.h"
#include "checkpoint/open_files.h"
#include "io/crc32c.h"
#include "io/file.h"

namespace loam::agent {

namespace {
constexpr std::chrono::milliseconds kTick{200};
// How long the end of the output is waited for once all else is done.
constexpr std::int64_t kLogFlushUs = 30'000'000;
}  // namespace

AttemptRunner::AttemptRunner(const ServerApi& api, Timeline& timeline, const Clock& clock,
                             Random& random, Json claim, LeaseTerms terms, AttemptPlace place)
    : api_(api),
      timeline_(timeline),
      clock_(clock),
      random_(random),
      claim_(std::move(claim)),
      place_(std::move(place)),
      lease_(api, timeline, clock, std::move(terms)),
      transfer_(api, lease_, [this] { return give_up() || draining_.load(); }) {}

void AttemptRunner::run() {
  timeline_.begin(lease_.slot(), "startup", lease_.job(), lease_.epoch());
  LOG_INFO("{}: attempt {} begins in slot {}", lease_.job(), lease_.epoch(), lease_.slot());
  Outcome outcome;
  if (const Status prepared = prepare(); !prepared) {
    outcome.failure_cause = "platform";
    outcome.message = prepared.error().message;
    outcome.drained = draining_;
  } else {
    outcome = run_program();
  }
  finish(outcome);
  lease_.stop();
  checkpointer_.reset();
  logs_.reset();
  timeline_.begin(lease_.slot(), "idle", "", 0);
  if (const Status removed = io::remove_tree(place_.directory); !removed) {
    LOG_WARN("cannot remove {}: {}", place_.directory, removed.error().to_string());
  }
}

Status AttemptRunner::prepare() {
  spec_ = TRY(jobs::load_job_spec(dump_json(claim_.value("spec", Json()))));
  const std::string work = place_.directory + "/work";
  for (const char* part : {"/work/.loam/home", "/work/.loam/tmp", "/spool", "/staging"}) {
    TRY_VOID(io::make_directories(place_.directory + part));
  }
  TRY_VOID(stage_workdir(transfer_, claim_.value("workdir", Json()), work));
  TRY_VOID(stage_inputs(transfer_, api_, lease_, spec_, work));
  for (const jobs::SyncRule& rule : spec_.after) {
    if (rule.from.ends_with('/')) TRY_VOID(io::make_directories(work + "/" + rule.from));
  }
  const Json candidates = claim_.value("candidates", Json::array());
  if (spec_.checkpoint) {
    const std::string directory = work + "/" + spec_.checkpoint->path;
    TRY_VOID(io::make_directories(directory));
    if (!candidates.empty()) {
      timeline_.begin(lease_.slot(), "restore", lease_.job(), lease_.epoch());
      resumed_ = TRY(restore_checkpoint(transfer_, api_, lease_, candidates, directory));
      timeline_.begin(lease_.slot(), "startup", lease_.job(), lease_.epoch());
    }
  }
  lease_.set_resumed(resumed_.step, resumed_.set);
  return {};
}

Result<ProcessSpec> AttemptRunner::process_spec() const {
  ProcessSpec out;
  const std::string work = place_.directory + "/work";
  out.command = spec_.command;
  out.arguments = spec_.arguments;
  out.environment = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                     {"HOME", work + "/.loam/home"},
                     {"TMPDIR", work + "/.loam/tmp"},
                     {"LANG", "C.UTF-8"}};
  for (const auto& [name, value] : spec_.environment)
    out.environment[name] = value;
  const Json secrets = claim_.value("secrets", Json::object());
  for (const auto& [name, value] : secrets.items()) {
    out.environment[name] = value.get<std::string>();
  }
  out.environment["LOAM_JOB_ID"] = lease_.job();
  out.environment["LOAM_ATTEMPT"] = std::to_string(lease_.epoch());
  out.environment["LOAM_NODE_ID"] = place_.node_id;
  out.environment["LOAM_RESUMED_STEP"] = std::to_string(resumed_.step);
  out.environment["LOAM_PROGRESS"] = place_.directory + "/progress.json";
  const Json advice = claim_.value("advice", Json());
  if (advice.is_object() && advice.contains("checkpoint_interval_s")) {
    out.environment["LOAM_CHECKPOINT_INTERVAL_S"] =
        fmt::format("{:.0f}", advice["checkpoint_interval_s"].get<double>());
  }
  if (place_.has_gpus) {
    out.environment["CUDA_VISIBLE_DEVICES"] = fmt::format("{}", fmt::join(place_.gpu_uuids, ","));
  }
  out.work_dir = work;
  out.spool_dir = place_.directory + "/spool";
  out.grace = std::chrono::milliseconds(spec_.grace_ms);
  out.kill_at_boot_us = lease_.kill_at_boot_us();
  if (spec_.progress) out.progress_pattern = spec_.progress->pattern;
  out.progress_file = out.environment["LOAM_PROGRESS"];
  TRY_VOID(check_process_spec(out));
  return out;
}

AttemptRunner::Outcome AttemptRunner::run_program() {
  Outcome outcome{.failure_cause = "platform"};
  const auto spec = process_spec();
  if (!spec) {
    outcome.message = spec.error().message;
    return outcome;
  }
  auto process = SupervisedProcess::start(*spec, place_.watchdog);
  if (!process) {
    outcome.message = process.error().message;
    return outcome;
  }
  lease_.set_phase("running");
  last_step_boot_us_ = clock_.boot_us();
  logs_ = std::make_unique<LogShipper>(api_, lease_, spec->spool_dir);
  if (spec_.checkpoint) {
    const pid_t watchdog = (*process)->watchdog_pid();
    auto started =
        Checkpointer::start(api_, lease_, timeline_, clock_, random_,
                            {.spec = checkpoint_spec(*spec_.checkpoint),
                             .directory = spec->work_dir + "/" + spec_.checkpoint->path,
                             .staging = place_.directory + "/staging",
                             .from_step = resumed_.step,
                             .any_step = resumed_.set.empty(),
                             .is_open = [watchdog](const std::string& path) -> Result<bool> {
                               std::vector<pid_t> pids;
                               for (const ProcessInfo& one : descendants_of(watchdog))
                                 pids.push_back(one.pid);
                               return checkpoint::is_open_for_writing(path, pids);
                             }});
    if (!started) {
      outcome.message = started.error().message;
      return outcome;
    }
    checkpointer_ = std::move(*started);
  }
  watch(**process, outcome);
  return outcome;
}

void AttemptRunner::on_progress(const ProgressEvent& event) {
  for (const StepMark& mark : event.steps) {
    const bool first = !last_step_;
    if (first) {
      timeline_.start_run(lease_.slot(), mark.step);
    } else {
      timeline_.add_step(lease_.slot(), mark.step, mark.boot_us - last_step_boot_us_);
    }
    last_step_ = mark.step;
    last_step_boot_us_ = mark.boot_us;
    lease_.set_step(mark.step, mark.boot_us);
  }
  timeline_.add_program_times(lease_.slot(), event.data_wait_us - data_wait_us_,
                              event.checkpoint_us - checkpoint_us_);
  data_wait_us_ = event.data_wait_us;
  checkpoint_us_ = event.checkpoint_us;
  const std::int64_t units = checkpointer_ ? checkpointer_->units() : 0;
  if (units > 0 && checkpoint_us_ > 0) lease_.set_save_cost_us(checkpoint_us_ / units);
}

void AttemptRunner::check_ending(SupervisedProcess& process) {
  const auto end = [&](std::chrono::milliseconds grace, const char* reason) {
    LOG_INFO("{}: ending the program: {}", lease_.job(), reason);
    terminating_ = true;
    process.terminate(grace, reason);
  };
  if (terminating_) return;
  const std::chrono::milliseconds grace(spec_.grace_ms);
  if (lease_.lost()) {
    end(grace, "lease_lost");
  } else if (abandoned_) {
    end(grace, "abandoned");
  } else if (draining_) {
    // The timeline says so before the program hears of it.
    timeline_.begin(lease_.slot(), "draining", lease_.job(), lease_.epoch());
    lease_.set_phase("draining");
    end(grace, "drained");
  } else if (spec_.progress && spec_.progress->timeout_ms > 0 &&
             clock_.boot_us() - last_step_boot_us_ > spec_.progress->timeout_ms * 1'000) {
    stalled_ = true;
    end(grace, "stalled");
  }
}

void AttemptRunner::watch(SupervisedProcess& process, Outcome& outcome) {
  while (!process.over()) {
    process.alive(lease_.kill_at_boot_us());
    check_ending(process);
    auto event = process.next_event(kTick);
    if (!event) {
      outcome.message = event.error().message;
      process.kill();
      continue;
    }
    if (!*event) continue;
    if (const auto* progress = std::get_if<ProgressEvent>(&**event)) on_progress(*progress);
    if (const auto* failed = std::get_if<StartFailedEvent>(&**event)) {
      outcome = {.failure_cause = "program", .message = failed->message};
    }
    if (const auto* exited = std::get_if<ExitedEvent>(&**event)) {
      outcome.exit_code = exited->code;
      outcome.signal = exited->signal;
      outcome.drained = draining_;
      outcome.failure_cause = exited->code == 0 && !terminating_ ? "" : "program";
      outcome.message.clear();
      if (stalled_) {
        outcome.failure_cause = "stalled";
        outcome.message = fmt::format("no new step for {} s",
                                      static_cast<double>(spec_.progress->timeout_ms) / 1e3);
      } else if (exited->oom_killed.value_or(false)) {
        outcome.message = "the program ran out of memory and was killed";
      } else if (exited->reason == kReasonWatchdogDied || exited->reason == kReasonDeadline) {
        outcome.failure_cause = "platform";
        outcome.message = "the program was ended: " + exited->reason;
      }
    }
  }
}

Json AttemptRunner::final_body(const Outcome& outcome) const {
  Json body{{"message", outcome.message}};
  if (outcome.exit_code) body["exit_code"] = *outcome.exit_code;
  if (outcome.signal) body["signal"] = *outcome.signal;
  if (last_step_) body["step"] = *last_step_;
  return body;
}

// Whatever became of the program, nothing goes out but under the lease.
void AttemptRunner::finish(const Outcome& outcome) {
  // A fenced attempt whose lease might come back waits here until it does, or is lost.
  if (!lease_.wait_until_may_publish([this] { return give_up(); })) return;
  const bool succeeded = outcome.failure_cause.empty() && !outcome.drained;
  if (checkpointer_) {
    if (!outcome.drained) {
      timeline_.begin(lease_.slot(), "checkpoint", lease_.job(), lease_.epoch());
    }
    checkpointer_->finish([this] { return give_up(); });
  }
  if (logs_) {
    const std::int64_t until = clock_.boot_us() + kLogFlushUs;
    logs_->finish([this, until] { return give_up() || clock_.boot_us() > until; });
  }
  if (outcome.drained) {
    Json body = final_body(outcome);
    body["reason"] = "drained";
    return report_end("release", std::move(body));
  }
  Json body = final_body(outcome);
  if (!succeeded) {
    body["cause"] = outcome.failure_cause;
    return report_end("fail", std::move(body));
  }
  lease_.set_phase("uploading");
  timeline_.begin(lease_.slot(), "checkpoint", lease_.job(), lease_.epoch());
  auto outputs = upload_outputs();
  if (outputs) {
    body["outputs"] = std::move(*outputs);
    return report_end("complete", std::move(body));
  }
  if (draining_) {
    body["reason"] = "drained";
    return report_end("release", std::move(body));
  }
  body["cause"] = outputs.error().code == ErrorCode::kInvalidArgument ? "program" : "platform";
  body["message"] = outputs.error().message;
  report_end("fail", std::move(body));
}

Status AttemptRunner::upload_output(std::size_t index, Json& outputs) {
  const jobs::SyncRule& rule = spec_.after[index];
  std::string local = place_.directory + "/work/" + rule.from;
  while (local.ends_with('/'))
    local.pop_back();
  std::vector<UploadFile> files;
  const auto add = [&](const std::string& path, const std::string& file) -> Status {
    const io::FileChecksums sums = TRY(io::checksum_file(file));
    files.push_back({fmt::format("out/{}/{}", index, path), file, sums.length, sums.crc});
    return {};
  };
  const auto tree = io::list_tree(local, 100'000);
  const bool single = !tree;
  if (single) {
    const auto sums = io::checksum_file(local);
    if (!sums) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the output {} does not exist after the run", rule.from));
    }
    TRY_VOID(add(local.substr(local.rfind('/') + 1), local));
  } else {
    if (!tree->links.empty()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the output {} holds a symbolic link ({}); copy the file instead",
                              rule.from, tree->links.front()));
    }
    for (const io::FileEntry& file : tree->files) {
      TRY_VOID(add(file.path, local + "/" + file.path));
    }
  }
  const std::vector<std::string> etags = TRY(transfer_.upload(files));
  const std::size_t prefix = fmt::format("out/{}/", index).size();
  for (std::size_t i = 0; i < files.size(); ++i) {
    outputs.push_back({{"index", index},
                       {"path", files[i].path.substr(prefix)},
                       {"size", files[i].size},
                       {"etag", etags[i]},
                       {"single", single}});
  }
  return {};
}

Result<Json> AttemptRunner::upload_outputs() {
  Json outputs = Json::array();
  for (std::size_t i = 0; i < spec_.after.size(); ++i)
    TRY_VOID(upload_output(i, outputs));
  return outputs;
}

void AttemptRunner::report_end(const std::string& call, Json body) {
  // Time up to the report belongs to this attempt, the rest is idle.
  timeline_.cut(lease_.slot());
  // A drain must not stop the very call that ends it, so this waits on less than transfers do.
  const Transfer persistent(api_, lease_, [this] { return give_up(); });
  const Status told = persistent.insist([&]() -> Status {
    const Timeline::Report report = timeline_.report(lease_.slot());
    body["now_us"] = report.now_us;
    body["segments"] = report.segments;
    TRY(api_.post(fmt::format("/v1/node/jobs/{}/{}", lease_.job(), call), body,
                  {.lease = lease_.header(), .deadline = std::chrono::minutes(5)}));
    timeline_.acknowledge(report);
    return {};
  });
  if (told) {
    LOG_INFO("{}: attempt {} ended: {}", lease_.job(), lease_.epoch(), call);
    return;
  }
  LOG_WARN("{}: the server did not take '{}': {}", lease_.job(), call, told.error().to_string());
  if (call == "complete" && !is_retryable(told.error().code) && !lease_.lost() && !give_up()) {
    body["cause"] = "platform";
    body["message"] = told.error().message;
    report_end("fail", std::move(body));
  }
}

}  // namespace loam::agent
