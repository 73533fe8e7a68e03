// SPDX-License-Identifier: Apache-2.0
#include "jobs/renew.h"

#include <algorithm>

#include "base/check.h"
#include "jobs/event.h"
#include "jobs/node.h"
#include "jobs/queue.h"

namespace loam::jobs {

namespace {

Status bring_back(Operation& op, const Lease& lease) {
  const auto other = TRY(
      op.session.row("SELECT job_id FROM lease WHERE node_id = ? AND slot = ? AND state = 'held'",
                     lease.node, lease.slot));
  if (other) {
    return fail(ErrorCode::kLeaseLost, "the slot has been given to " + other->text(0));
  }
  TRY_VOID(dequeue(op, lease.job));
  return append_event(op.session, {.at = op.wall_ms,
                                   .owner = lease.owner,
                                   .job = lease.job,
                                   .node = lease.node,
                                   .type = "lease.recovered",
                                   .data = {{"epoch", lease.epoch}}});
}

// The first report of where the attempt resumed. Work beyond it that a set had covered is paid for
// again now, so it was lost.
Status note_resume(Operation& op, const Lease& lease, const Renewal& renewal) {
  const std::int64_t changed = TRY(op.session.exec(
      "UPDATE attempt SET resumed_step = ?, resumed_set = ? WHERE job_id = ? AND epoch = ? AND "
      "resumed_step IS NULL",
      *renewal.resumed_step, renewal.resumed_set, lease.job, lease.epoch));
  if (changed == 0) return {};
  TRY_VOID(forget_beyond(op, lease.job, *renewal.resumed_step, lease.epoch));
  return append_event(op.session, {.at = op.wall_ms,
                                   .owner = lease.owner,
                                   .job = lease.job,
                                   .node = lease.node,
                                   .type = "job.resumed",
                                   .data = {{"epoch", lease.epoch},
                                            {"step", *renewal.resumed_step},
                                            {"set", renewal.resumed_set}}});
}

Status note_progress(Operation& op, const Lease& lease, const Renewal& renewal) {
  std::optional<std::int64_t> first_step_lc;
  if (renewal.first_step_ago_us) {
    first_step_lc = op.lease_ms - std::max<std::int64_t>(*renewal.first_step_ago_us, 0) / 1'000;
  }
  TRY_VOID(op.session.exec_later(
      "UPDATE attempt SET contact_lc = ?, step = coalesce(?, step), "
      "first_step_lc = coalesce(first_step_lc, ?) WHERE job_id = ? AND epoch = ?",
      op.lease_ms, renewal.step, first_step_lc, lease.job, lease.epoch));
  // Minute buckets keep the history of heartbeats small however often they come.
  TRY_VOID(op.session.exec_later(
      "INSERT INTO heartbeat_minute (job_id, epoch, minute, beats) VALUES (?, ?, ?, 1) "
      "ON CONFLICT (job_id, epoch, minute) DO UPDATE SET beats = heartbeat_minute.beats + 1",
      lease.job, lease.epoch, op.lease_ms / 60'000));
  return op.session.exec_later(
      "UPDATE job SET status = 'running', phase = ?, step = coalesce(?, step), "
      "save_cost_us = coalesce(?, save_cost_us) WHERE id = ?",
      renewal.phase, renewal.step, renewal.save_cost_us, lease.job);
}

}  // namespace

Result<Renewed> renew_lease(Operation& op, const LeaseRef& ref, const Renewal& renewal) {
  const Lease lease = TRY(check_lease(op, ref, /*allow_expired=*/true));
  if (lease.state == "expired") TRY_VOID(bring_back(op, lease));
  const auto row = TRY(op.session.row(
      "UPDATE lease SET state = 'held', expires_lc = ? + ttl_ms, extended = 0 WHERE job_id = ? "
      "RETURNING ttl_ms",
      op.lease_ms, lease.job));
  CHECK(row.has_value());
  if (renewal.resumed_step) TRY_VOID(note_resume(op, lease, renewal));
  TRY_VOID(note_progress(op, lease, renewal));
  if (renewal.starved) {
    TRY_VOID(append_event(op.session, {.at = op.wall_ms,
                                       .owner = lease.owner,
                                       .job = lease.job,
                                       .node = lease.node,
                                       .type = "checkpoint.starved",
                                       .data = {{"epoch", lease.epoch}}}));
  }
  TRY_VOID(touch_node(op, ref.node, renewal.now_us));
  TRY_VOID(record_segments(op, ref.node, renewal.now_us, renewal.segments));
  Renewed out{.ttl_ms = row->integer(0)};
  out.figures = TRY(save_figures(op.session, lease.job));
  return out;
}

}  // namespace loam::jobs
