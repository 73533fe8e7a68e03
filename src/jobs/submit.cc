// SPDX-License-Identifier: Apache-2.0
#include "jobs/submit.h"

#include <fmt/format.h>

#include "jobs/event.h"
#include "jobs/queue.h"

namespace loam::jobs {

namespace {

Result<std::string> submit_one(Operation& op, const Submission& submission) {
  const JobSpec& spec = submission.spec;
  if (!spec.workdir_id.empty()) {
    const auto known =
        TRY(op.session.row("SELECT 1 FROM workdir_grant WHERE workdir_id = ? AND owner = ?",
                           spec.workdir_id, submission.owner));
    if (!known) {
      return fail(ErrorCode::kNotFound,
                  fmt::format("'workdir': no work directory {} was uploaded by {}",
                              spec.workdir_id.substr(0, 12), submission.owner));
    }
  }
  const std::string id = random_id(op.random, "j-");
  const std::int64_t seq = TRY(next_count(op.session, "job"));
  const std::int64_t shape = TRY(shape_id(op, spec.resources.key(spec.pool)));
  TRY(op.session.exec(
      "INSERT INTO job (id, seq, owner, name, pool, spec, shape, status, phase, reason, message, "
      "priority, created_at, epoch, num_failures, num_platform_failures, num_interruptions, "
      "max_failures) VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', 'queued', '', '', ?, ?, 0, 0, 0, 0, "
      "?)",
      id, seq, submission.owner, spec.name, spec.pool, dump_json(spec.to_json()), shape,
      spec.priority, op.wall_ms, spec.max_failures));
  for (const auto& [name, sealed] : submission.sealed_secrets) {
    TRY(op.session.exec("INSERT INTO secret (job_id, name, sealed) VALUES (?, ?, ?)", id, name,
                        sealed));
  }
  TRY_VOID(enqueue(op, {id, submission.owner, shape, spec.priority, seq}, kClassFresh, 0));
  TRY_VOID(append_event(op.session, {.at = op.wall_ms,
                                     .owner = submission.owner,
                                     .job = id,
                                     .type = "job.submitted",
                                     .data = {{"name", spec.name}}}));
  return id;
}

}  // namespace

Result<std::vector<std::string>> submit_jobs(Operation& op,
                                             const std::vector<Submission>& submissions) {
  if (submissions.empty() || submissions.size() > kMaxJobsPerCall) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("between 1 and {} jobs can be submitted in one call, not {}",
                            kMaxJobsPerCall, submissions.size()));
  }
  std::vector<std::string> ids;
  ids.reserve(submissions.size());
  for (const Submission& submission : submissions)
    ids.push_back(TRY(submit_one(op, submission)));
  return ids;
}

}  // namespace loam::jobs
