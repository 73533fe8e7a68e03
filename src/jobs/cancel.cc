// SPDX-License-Identifier: Apache-2.0
#include "jobs/cancel.h"

#include <fmt/format.h>

#include "jobs/attempt.h"
#include "jobs/event.h"
#include "jobs/queue.h"

namespace loam::jobs {

Result<std::optional<std::string>> cancel_job(Operation& op, const std::string& job) {
  const auto row = TRY(op.session.row("SELECT status, phase, owner FROM job WHERE id = ?", job));
  if (!row) return fail(ErrorCode::kNotFound, fmt::format("no job {}", job));
  const std::string& status = row->text(0);
  if (status == "canceled") return std::optional<std::string>();
  if (status == "completed" || status == "failed") {
    return fail(ErrorCode::kConflict, fmt::format("job {} is already {}", job, status));
  }
  const auto lease = TRY(op.session.row("SELECT epoch, node_id FROM lease WHERE job_id = ?", job));
  if (status == "running" && !lease) {
    return fail(ErrorCode::kConflict,
                fmt::format("job {} has succeeded and its outputs are being published", job));
  }
  TRY_VOID(dequeue(op, job));
  std::optional<std::string> node;
  if (lease) {
    node = lease->text(1);
    TRY_VOID(end_attempt(op, job, lease->integer(0), {.state = "canceled", .cause = "canceled"}));
  }
  TRY(
      op.session.exec("UPDATE job SET status = 'canceled', phase = '', reason = 'canceled', "
                      "finished_at = ? WHERE id = ?",
                      op.wall_ms, job));
  TRY_VOID(append_event(op.session, {.at = op.wall_ms,
                                     .owner = row->text(2),
                                     .job = job,
                                     .node = node.value_or(""),
                                     .type = "job.canceled"}));
  return node;
}

Status retry_job(Operation& op, const std::string& job) {
  const auto row = TRY(op.session.row("SELECT status, owner, phase FROM job WHERE id = ?", job));
  if (!row) return fail(ErrorCode::kNotFound, fmt::format("no job {}", job));
  const bool in_vain = row->text(2) == "unschedulable";
  if (row->text(0) != "failed" && row->text(0) != "canceled" && !in_vain) {
    return fail(ErrorCode::kConflict,
                fmt::format("job {} is {}; only a failed, canceled or unschedulable job can be "
                            "retried",
                            job, row->text(0)));
  }
  TRY(op.session.exec(
      "UPDATE job SET status = 'pending', phase = 'queued', reason = '', message = '', "
      "num_failures = 0, num_platform_failures = 0, finished_at = NULL WHERE id = ?",
      job));
  TRY(op.session.exec("DELETE FROM ban WHERE job_id = ?", job));
  TRY(op.session.exec("DELETE FROM output_file WHERE job_id = ?", job));
  TRY_VOID(enqueue_job(op, job, kClassFresh, 0));
  return append_event(op.session,
                      {.at = op.wall_ms, .owner = row->text(1), .job = job, .type = "job.retried"});
}

}  // namespace loam::jobs
