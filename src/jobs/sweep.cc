// SPDX-License-Identifier: Apache-2.0
#include "jobs/sweep.h"

namespace loam::jobs {

Result<std::vector<SweepTask>> unswept_attempts(Operation& op, std::int64_t grace_ms,
                                                std::size_t limit) {
  std::vector<SweepTask> out;
  for (const db::Row& row : TRY(op.session.rows(
           "SELECT a.job_id, a.epoch, a.prefix FROM attempt a JOIN job j ON j.id = a.job_id "
           "WHERE a.swept = 0 AND a.ended_lc <= ? AND NOT (a.state = 'succeeded' AND "
           "j.status = 'running') ORDER BY a.ended_lc LIMIT ?",
           op.lease_ms - grace_ms, limit))) {
    out.push_back({row.text(0), row.integer(1), row.text(2)});
  }
  return out;
}

Result<std::vector<std::string>> live_set_prefixes(db::Session& session, const std::string& job,
                                                   std::int64_t epoch) {
  std::vector<std::string> out;
  for (const db::Row& row : TRY(session.rows("SELECT prefix FROM checkpoint_set WHERE job_id = ? "
                                             "AND epoch = ? AND state <> 'deleted'",
                                             job, epoch))) {
    out.push_back(row.text(0));
  }
  return out;
}

Status mark_swept(Operation& op, const std::string& job, std::int64_t epoch) {
  TRY(op.session.exec("UPDATE attempt SET swept = 1 WHERE job_id = ? AND epoch = ?", job, epoch));
  return {};
}

}  // namespace loam::jobs
