// SPDX-License-Identifier: Apache-2.0
#include "jobs/exposure.h"

#include <algorithm>

#include "base/check.h"

namespace loam::jobs {

Status record_exposure(Operation& op, const std::string& job, std::int64_t epoch) {
  const auto row = TRY(
      op.session.row("SELECT n.pool, a.ended_lc - a.started_lc, a.state FROM attempt a JOIN node n "
                     "ON n.id = a.node_id WHERE a.job_id = ? AND a.epoch = ?",
                     job, epoch));
  CHECK(row.has_value());
  const std::int64_t losses = row->text(2) == "lost" ? 1 : 0;
  TRY(op.session.exec(
      "INSERT INTO exposure (pool, running_ms, interruptions) VALUES (?, ?, ?) "
      "ON CONFLICT (pool) DO UPDATE SET running_ms = exposure.running_ms + excluded.running_ms, "
      "interruptions = exposure.interruptions + excluded.interruptions",
      row->text(0), row->integer(1), losses));
  return {};
}

Result<SaveFigures> save_figures(db::Session& session, const std::string& job) {
  SaveFigures out;
  const auto row =
      TRY(session.row("SELECT j.save_cost_us, e.running_ms, e.interruptions FROM job j "
                      "LEFT JOIN attempt a ON a.job_id = j.id LEFT JOIN node n ON n.id = a.node_id "
                      "LEFT JOIN exposure e ON e.pool = n.pool "
                      "WHERE j.id = ? ORDER BY a.epoch DESC LIMIT 1",
                      job));
  CHECK(row.has_value());
  out.save_cost_us = row->opt_integer(0);
  const std::int64_t interruptions = row->opt_integer(2).value_or(0);
  if (interruptions > 0) {
    // The assumption counts as one more loss after the assumed time, so that a single early loss
    // does not swing the advice.
    out.between_interruptions_us =
        (row->integer(1) * 1'000 + kAssumedBetweenInterruptionsUs) / (interruptions + 1);
  }
  return out;
}

}  // namespace loam::jobs
