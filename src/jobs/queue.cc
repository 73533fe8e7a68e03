// SPDX-License-Identifier: Apache-2.0
#include "jobs/queue.h"

#include "base/check.h"

namespace loam::jobs {

Result<std::int64_t> shape_id(Operation& op, const std::string& requirement) {
  const auto known = TRY(op.session.row("SELECT id FROM shape WHERE requirement = ?", requirement));
  if (known) return known->integer(0);
  const auto added = TRY(op.session.row(
      "INSERT INTO shape (id, requirement) SELECT coalesce(max(id), 0) + 1, ? FROM shape "
      "RETURNING id",
      requirement));
  CHECK(added.has_value());
  return added->integer(0);
}

Status enqueue(Operation& op, const QueueEntry& entry, std::int64_t queue_class,
               std::int64_t delay_ms) {
  TRY_VOID(op.session.exec_later(
      "INSERT INTO queue (job_id, owner, shape, ready, class, priority, seq, not_before_lc) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      entry.job, entry.owner, entry.shape, delay_ms <= 0 ? 1 : 0, queue_class, entry.priority,
      entry.seq, op.lease_ms + delay_ms));
  return op.session.exec_later(
      "INSERT INTO lane (shape, owner, waiting) VALUES (?, ?, 1) "
      "ON CONFLICT (shape, owner) DO UPDATE SET waiting = lane.waiting + 1",
      entry.shape, entry.owner);
}

Status enqueue_job(Operation& op, const std::string& job, std::int64_t queue_class,
                   std::int64_t delay_ms) {
  const auto row =
      TRY(op.session.row("SELECT owner, shape, priority, seq FROM job WHERE id = ?", job));
  CHECK(row.has_value());
  TRY_VOID(dequeue(op, job));
  return enqueue(op, {job, row->text(0), row->integer(1), row->integer(2), row->integer(3)},
                 queue_class, delay_ms);
}

Status dequeue(Operation& op, const std::string& job) {
  TRY_VOID(
      op.session.exec_later("UPDATE lane SET waiting = waiting - 1 WHERE (shape, owner) IN "
                            "(SELECT shape, owner FROM queue WHERE job_id = ?)",
                            job));
  TRY_VOID(
      op.session.exec_later("DELETE FROM lane WHERE waiting <= 0 AND (shape, owner) IN "
                            "(SELECT shape, owner FROM queue WHERE job_id = ?)",
                            job));
  return op.session.exec_later("DELETE FROM queue WHERE job_id = ?", job);
}

Result<std::int64_t> ready_due(Operation& op) {
  const auto due = TRY(op.session.rows(
      "UPDATE queue SET ready = 1 WHERE ready = 0 AND not_before_lc <= ? RETURNING job_id",
      op.lease_ms));
  for (const db::Row& row : due) {
    TRY(op.session.exec("UPDATE job SET phase = 'queued' WHERE id = ? AND phase = 'backoff'",
                        row.text(0)));
  }
  return static_cast<std::int64_t>(due.size());
}

Result<bool> queue_has_ready(db::Session& session) {
  return TRY(session.row("SELECT 1 FROM queue WHERE ready = 1 LIMIT 1")).has_value();
}

}  // namespace loam::jobs
