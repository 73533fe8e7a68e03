// SPDX-License-Identifier: Apache-2.0
#include "jobs/node.h"

#include <fmt/format.h>

#include "base/check.h"
#include "jobs/event.h"

namespace loam::jobs {

Result<std::string> enrol_node(Operation& op, const NodeEnrolment& enrolment) {
  const std::string id = random_id(op.random, "n-");
  const std::int64_t seq = TRY(next_count(op.session, "node"));
  TRY(op.session.exec(
      "INSERT INTO node (id, seq, name, pool, machine_id, state, slots, gpus, gpu_count, "
      "gpu_class, "
      "vram_gb, price_uusd_hour, version, ttl_ms, registered_at, registered_lc, contact_at, "
      "contact_lc, contact_us) VALUES (?, ?, ?, ?, ?, 'active', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, 0)",
      id, seq, enrolment.name, enrolment.pool, enrolment.machine_id, enrolment.slots,
      dump_json(enrolment.gpus), enrolment.gpus.size(), enrolment.gpu_class, enrolment.vram_gb,
      enrolment.price_uusd_hour, enrolment.version, enrolment.ttl_ms, op.wall_ms, op.lease_ms,
      op.wall_ms, op.lease_ms));
  TRY_VOID(
      append_event(op.session, {.at = op.wall_ms,
                                .node = id,
                                .type = "node.enrolled",
                                .data = {{"name", enrolment.name}, {"pool", enrolment.pool}}}));
  return id;
}

Status touch_node(Operation& op, const std::string& node, std::int64_t now_us) {
  const auto row = TRY(op.session.row("SELECT state, contact_us FROM node WHERE id = ?", node));
  if (!row) return fail(ErrorCode::kNotFound, fmt::format("no node {}", node));
  if (now_us < row->integer(1)) {
    // Two calls of one node may overtake each other; the later position stands.
    now_us = row->integer(1);
  }
  if (row->text(0) == "left") {
    return fail(ErrorCode::kConflict, fmt::format("node {} has left", node));
  }
  if (row->text(0) != "lost") {
    return op.session.exec_later(
        "UPDATE node SET contact_at = ?, contact_lc = ?, contact_us = ?, ended_at = NULL, "
        "paid_us = NULL WHERE id = ?",
        op.wall_ms, op.lease_ms, now_us, node);
  }
  TRY(
      op.session.exec("UPDATE node SET state = CASE WHEN draining = 1 THEN ? ELSE ? END, "
                      "ended_at = NULL, paid_us = NULL, "
                      "contact_at = ?, contact_lc = ?, contact_us = ? WHERE id = ?",
                      "draining", "active", op.wall_ms, op.lease_ms, now_us, node));
  return append_event(op.session, {.at = op.wall_ms, .node = node, .type = "node.returned"});
}

Status drain_node(Operation& op, const std::string& node) {
  const std::int64_t changed = TRY(
      op.session.exec("UPDATE node SET state = 'draining', draining = 1 WHERE id = ? AND state IN "
                      "('active', 'lost')",
                      node));
  if (changed == 0) return {};
  return append_event(op.session, {.at = op.wall_ms, .node = node, .type = "node.draining"});
}

Status leave_node(Operation& op, const std::string& node, std::int64_t now_us) {
  const auto busy =
      TRY(op.session.row("SELECT job_id FROM lease WHERE node_id = ? AND state = 'held'", node));
  if (busy) {
    return fail(ErrorCode::kConflict,
                fmt::format("node {} still holds the lease of {}", node, busy->text(0)));
  }
  const std::int64_t changed = TRY(op.session.exec(
      "UPDATE node SET state = 'left', ended_at = ?, paid_us = ?, contact_us = ?, contact_at = ?, "
      "contact_lc = ? WHERE id = ? AND state <> 'left'",
      op.wall_ms, now_us, now_us, op.wall_ms, op.lease_ms, node));
  if (changed == 0) return {};
  return append_event(op.session, {.at = op.wall_ms, .node = node, .type = "node.left"});
}

Result<std::int64_t> lose_silent_nodes(Operation& op) {
  const auto silent = TRY(op.session.rows(
      "SELECT id FROM node WHERE state IN ('active', 'draining') AND contact_lc + ttl_ms < ? "
      "LIMIT 1000",
      op.lease_ms));
  for (const db::Row& row : silent) {
    TRY(
        op.session.exec("UPDATE node SET state = 'lost', ended_at = ?, "
                        "paid_us = contact_us + (? - contact_lc) * 1000 WHERE id = ?",
                        op.wall_ms, op.lease_ms, row.text(0)));
    TRY_VOID(
        append_event(op.session, {.at = op.wall_ms, .node = row.text(0), .type = "node.lost"}));
  }
  return static_cast<std::int64_t>(silent.size());
}

Result<std::vector<Json>> list_nodes(db::Session& session, bool all, std::size_t limit) {
  const auto rows = TRY(session.rows(
      "SELECT n.id, n.name, n.pool, n.state, n.slots, n.gpus, n.gpu_class, n.vram_gb, "
      "n.price_uusd_hour, n.version, n.registered_at, n.contact_at, n.ended_at, "
      "(SELECT count(*) FROM lease l WHERE l.node_id = n.id AND l.state = 'held') FROM node n "
      "WHERE ? = 1 OR n.state IN ('active', 'draining') ORDER BY n.seq DESC LIMIT ?",
      all ? 1 : 0, limit));
  std::vector<Json> out;
  for (const db::Row& row : rows) {
    Json node{{"id", row.text(0)},
              {"name", row.text(1)},
              {"pool", row.text(2)},
              {"state", row.text(3)},
              {"slots", row.integer(4)},
              {"slots_busy", row.integer(13)},
              {"gpus", TRY(parse_json(row.text(5)))},
              {"gpu_class", row.text(6)},
              {"vram_gb", row.real(7)},
              {"price_per_hour", static_cast<double>(row.integer(8)) / 1e6},
              {"version", row.text(9)},
              {"registered", format_utc(row.integer(10))},
              {"last_contact", format_utc(row.integer(11))}};
    if (!row.is_null(12)) node["ended"] = format_utc(row.integer(12));
    out.push_back(std::move(node));
  }
  return out;
}

}  // namespace loam::jobs
