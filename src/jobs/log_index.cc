// SPDX-License-Identifier: Apache-2.0
#include "jobs/log_index.h"

namespace loam::jobs {

Status add_log_chunk(Operation& op, const LeaseRef& ref, const LogChunk& chunk) {
  TRY(check_lease(op, ref));
  TRY(op.session.exec(
      "INSERT INTO log_chunk (job_id, epoch, seq, key, start, bytes, gap, at, last) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (job_id, epoch, seq) DO NOTHING",
      ref.job, ref.epoch, chunk.seq, chunk.key, chunk.start, chunk.bytes, chunk.gap, chunk.at,
      chunk.last ? 1 : 0));
  return {};
}

Result<std::vector<LogChunk>> log_chunks(db::Session& session, const std::string& job,
                                         std::int64_t epoch, std::int64_t from_seq,
                                         std::size_t limit) {
  std::vector<LogChunk> out;
  for (const db::Row& row : TRY(session.rows(
           "SELECT seq, key, start, bytes, gap, at, last FROM log_chunk WHERE job_id = ? AND "
           "epoch = ? AND seq >= ? ORDER BY seq LIMIT ?",
           job, epoch, from_seq, limit))) {
    out.push_back({row.integer(0), row.text(1), row.integer(2), row.integer(3), row.integer(4),
                   row.integer(5), row.boolean(6)});
  }
  return out;
}

}  // namespace loam::jobs
