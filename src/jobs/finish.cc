// SPDX-License-Identifier: Apache-2.0
#include "jobs/finish.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "jobs/checkpoint_set.h"
#include "jobs/event.h"
#include "jobs/node.h"
#include "jobs/publish.h"
#include "jobs/queue.h"

namespace loam::jobs {

namespace {

Status record_final(Operation& op, const LeaseRef& ref, const FinalReport& report) {
  TRY(
      op.session.exec("UPDATE attempt SET contact_lc = ?, step = coalesce(?, step) "
                      "WHERE job_id = ? AND epoch = ?",
                      op.lease_ms, report.step, ref.job, ref.epoch));
  TRY(op.session.exec("UPDATE job SET step = coalesce(?, step) WHERE id = ?", report.step,
                      ref.job));
  TRY_VOID(touch_node(op, ref.node, report.now_us));
  return record_segments(op, ref.node, report.now_us, report.segments);
}

Status job_event(Operation& op, const Lease& lease, std::string type, Json data) {
  data["epoch"] = lease.epoch;
  return append_event(op.session, {.at = op.wall_ms,
                                   .owner = lease.owner,
                                   .job = lease.job,
                                   .node = lease.node,
                                   .type = std::move(type),
                                   .data = std::move(data)});
}

struct Failures {
  std::int64_t program = 0;
  std::int64_t platform = 0;
  std::int64_t most = 0;

  // Why the job may not go on, or nothing.
  std::string exhausted() const {
    if (program >= most) return "max_failures";
    return platform >= kMaxPlatformFailures ? "platform" : "";
  }
};

Result<Failures> count_failure(Operation& op, const std::string& job, bool platform) {
  const auto row = TRY(op.session.row(
      platform ? "UPDATE job SET num_platform_failures = num_platform_failures + 1 WHERE id = ? "
                 "RETURNING num_failures, num_platform_failures, max_failures"
               : "UPDATE job SET num_failures = num_failures + 1 WHERE id = ? "
                 "RETURNING num_failures, num_platform_failures, max_failures",
      job));
  CHECK(row.has_value());
  return Failures{row->integer(0), row->integer(1), row->integer(2)};
}

std::string failure_text(const std::string& cause, const FinalReport& report) {
  if (!report.message.empty()) return report.message.substr(0, 2'000);
  if (report.signal) return fmt::format("the program was ended by signal {}", *report.signal);
  if (report.exit_code) return fmt::format("the program exited with code {}", *report.exit_code);
  return cause;
}

}  // namespace

Status complete_attempt(Operation& op, const LeaseRef& ref, const FinalReport& report,
                        const std::vector<OutputFile>& outputs) {
  if (TRY(already_ended(op, ref, "succeeded"))) return {};
  const Lease lease = TRY(check_lease(op, ref));
  TRY_VOID(record_final(op, ref, report));
  TRY_VOID(
      end_attempt(op, ref.job, ref.epoch, {.state = "succeeded", .exit_code = report.exit_code}));
  TRY_VOID(job_event(op, lease, "job.succeeded", {{"outputs", outputs.size()}}));
  TRY(op.session.exec("UPDATE job SET phase = 'uploading' WHERE id = ?", ref.job));
  return start_publishing(op, ref.job, ref.epoch, outputs);
}

std::int64_t back_off_ms(std::int64_t failures) {
  constexpr std::int64_t kMostMs = 300'000;
  if (failures > 5) return kMostMs;
  return std::min(kMostMs, std::int64_t{500} << (2 * std::max<std::int64_t>(failures, 1)));
}

Status fail_attempt(Operation& op, const LeaseRef& ref, const std::string& cause,
                    const FinalReport& report) {
  if (TRY(already_ended(op, ref, "failed"))) return {};
  const Lease lease = TRY(check_lease(op, ref));
  TRY_VOID(record_final(op, ref, report));
  const std::string message = failure_text(cause, report);
  TRY_VOID(end_attempt(op, ref.job, ref.epoch,
                       {.state = "failed",
                        .cause = cause,
                        .exit_code = report.exit_code,
                        .signal = report.signal,
                        .message = message}));
  Failures failures = TRY(count_failure(op, ref.job, cause == "platform"));
  TRY_VOID(job_event(op, lease, "attempt.failed",
                     {{"cause", cause}, {"message", message}, {"failures", failures.program}}));
  if (cause == "program") {
    TRY(op.session.exec("INSERT INTO ban (job_id, node_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
                        ref.job, ref.node));
    const std::int64_t forgiven = TRY(blame_resumed_set(op, ref.job, ref.epoch));
    failures.program = std::max<std::int64_t>(failures.program - forgiven, 0);
  }
  const std::string exhausted = failures.exhausted();
  if (!exhausted.empty()) {
    TRY(
        op.session.exec("UPDATE job SET status = 'failed', phase = '', reason = ?, message = ?, "
                        "finished_at = ? WHERE id = ?",
                        exhausted, message, op.wall_ms, ref.job));
    return job_event(op, lease, "job.failed", {{"reason", exhausted}, {"message", message}});
  }
  const std::int64_t delay =
      back_off_ms(cause == "platform" ? failures.platform : failures.program);
  TRY(
      op.session.exec("UPDATE job SET status = 'pending', phase = 'backoff', reason = ?, "
                      "message = ? WHERE id = ?",
                      cause, message, ref.job));
  return enqueue_job(op, ref.job, kClassInterrupted, delay);
}

Status release_attempt(Operation& op, const LeaseRef& ref, const std::string& reason,
                       const FinalReport& report) {
  if (TRY(already_ended(op, ref, "released"))) return {};
  const Lease lease = TRY(check_lease(op, ref));
  TRY_VOID(record_final(op, ref, report));
  TRY_VOID(end_attempt(op, ref.job, ref.epoch,
                       {.state = "released",
                        .cause = reason,
                        .exit_code = report.exit_code,
                        .signal = report.signal,
                        .message = report.message}));
  TRY(
      op.session.exec("UPDATE job SET status = 'pending', phase = 'queued', reason = ?, "
                      "num_interruptions = num_interruptions + 1 WHERE id = ?",
                      reason, ref.job));
  TRY_VOID(job_event(op, lease, "job.released", {{"reason", reason}}));
  return enqueue_job(op, ref.job, kClassInterrupted, 0);
}

}  // namespace loam::jobs
