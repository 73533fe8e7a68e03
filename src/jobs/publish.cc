// SPDX-License-Identifier: Apache-2.0
#include "jobs/publish.h"

#include "base/check.h"
#include "jobs/event.h"

namespace loam::jobs {

namespace {

Status finish_job(Operation& op, const std::string& job, std::int64_t epoch,
                  const std::string& status, const std::string& reason,
                  const std::string& message) {
  const auto row = TRY(op.session.row(
      "UPDATE job SET status = ?, phase = '', reason = ?, message = ?, finished_at = ? "
      "WHERE id = ? AND epoch = ? AND status = 'running' AND phase = 'uploading' RETURNING owner",
      status, reason, message, op.wall_ms, job, epoch));
  if (!row) return {};
  Json data = Json::object();
  if (!reason.empty()) data = {{"reason", reason}, {"message", message}};
  return append_event(op.session, {.at = op.wall_ms,
                                   .owner = row->text(0),
                                   .job = job,
                                   .type = "job." + status,
                                   .data = std::move(data)});
}

}  // namespace

Status start_publishing(Operation& op, const std::string& job, std::int64_t epoch,
                        const std::vector<OutputFile>& outputs) {
  std::int64_t index = 0;
  for (const OutputFile& file : outputs) {
    TRY(op.session.exec(
        "INSERT INTO output_file (job_id, idx, epoch, source, destination, bytes, etag, done) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
        job, index++, epoch, file.source, file.destination, file.bytes, file.etag));
  }
  if (outputs.empty()) return finish_job(op, job, epoch, "completed", "", "");
  return {};
}

Result<std::vector<PendingOutput>> pending_outputs(db::Session& session, std::size_t limit) {
  const auto rows =
      TRY(session.rows("SELECT o.job_id, o.epoch, o.idx, o.source, o.destination, o.bytes, o.etag "
                       "FROM output_file o JOIN job j ON j.id = o.job_id WHERE j.status = "
                       "'running' AND j.phase = 'uploading' AND "
                       "o.done = 0 ORDER BY j.seq, o.idx LIMIT ?",
                       limit));
  std::vector<PendingOutput> out;
  for (const db::Row& row : rows) {
    out.push_back({row.text(0), row.integer(1), row.integer(2),
                   OutputFile{row.text(3), row.text(4), row.integer(5), row.text(6)}});
  }
  return out;
}

Status mark_published(Operation& op, const std::string& job, std::int64_t epoch,
                      const std::vector<std::int64_t>& indexes) {
  for (const std::int64_t index : indexes) {
    TRY(op.session.exec(
        "UPDATE output_file SET done = 1 WHERE job_id = ? AND epoch = ? AND idx = ?", job, epoch,
        index));
  }
  const auto left =
      TRY(op.session.row("SELECT count(*) FROM output_file WHERE job_id = ? AND done = 0", job));
  CHECK(left.has_value());
  return left->integer(0) == 0 ? finish_job(op, job, epoch, "completed", "", "") : Status();
}

Status fail_publishing(Operation& op, const std::string& job, std::int64_t epoch,
                       const std::string& message) {
  return finish_job(op, job, epoch, "failed", "publish", message);
}

Result<std::vector<OutputFile>> published_outputs(db::Session& session, const std::string& job) {
  const auto rows = TRY(session.rows(
      "SELECT source, destination, bytes, etag FROM output_file WHERE job_id = ? AND done = 1 "
      "ORDER BY idx",
      job));
  std::vector<OutputFile> out;
  for (const db::Row& row : rows) {
    out.push_back({row.text(0), row.text(1), row.integer(2), row.text(3)});
  }
  return out;
}

}  // namespace loam::jobs
