// SPDX-License-Identifier: Apache-2.0
#include "meta/node_session.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/encoding.h"
#include "meta/numbers.h"
#include "meta/object.h"

namespace loam::meta {

namespace {

constexpr std::size_t kMaxNodeBytes = 128;
constexpr std::size_t kMaxHolds = 100'000;

Status check_ttl(std::int64_t ttl_ms) {
  if (ttl_ms >= 1 && ttl_ms <= kMaxSessionTtlMs) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("a session lasts 1 to {} ms, not {}", kMaxSessionTtlMs, ttl_ms));
}

// What a session leaves: nobody will commit its objects or give back its locks.
Status clear(Operation& op, const std::string& node) {
  TRY_VOID(abandon_reserved(op, node));
  TRY(op.session.exec("DELETE FROM file_lock WHERE node = ?", node));
  TRY(op.session.exec("DELETE FROM hold WHERE node = ?", node));
  return {};
}

}  // namespace

Result<NodeRef> begin_session(Operation& op, const std::string& node, std::int64_t ttl_ms) {
  TRY_VOID(check_ttl(ttl_ms));
  if (node.empty() || node.size() > kMaxNodeBytes) {
    return fail(ErrorCode::kInvalidArgument, "a node's id has 1 to 128 bytes");
  }
  TRY_VOID(clear(op, node));
  // It has no cache yet, so it is up to date.
  const auto row = TRY(op.session.row(
      "INSERT INTO node_session (node, epoch, ended, expires_lc, position) SELECT ?, 1, 0, ?, "
      "change FROM namespace WHERE id = 1 ON CONFLICT (node) DO UPDATE SET epoch = "
      "node_session.epoch + 1, ended = 0, expires_lc = excluded.expires_lc, position = "
      "excluded.position RETURNING epoch",
      node, op.lease_ms + ttl_ms));
  CHECK(row.has_value());
  return NodeRef{node, row->integer(0)};
}

Status check_session(Operation& op, const NodeRef& ref) {
  const auto row = TRY(op.session.row(
      "SELECT 1 FROM node_session WHERE node = ? AND epoch = ? AND ended = 0 AND expires_lc > ?",
      ref.node, ref.epoch, op.lease_ms));
  if (row) return {};
  return fail(ErrorCode::kLeaseLost, fmt::format("session {} of node {} is over; begin another",
                                                 ref.epoch, printable(ref.node)));
}

Status renew_session(Operation& op, const NodeRef& ref, const SessionRenewal& renewal) {
  TRY_VOID(check_ttl(renewal.ttl_ms));
  TRY_VOID(check_session(op, ref));
  if (renewal.holds.size() > kMaxHolds) {
    return fail(ErrorCode::kTooLarge, fmt::format("a node holds at most {} objects", kMaxHolds));
  }
  if (renewal.position > TRY(last_change(op.session))) {
    return fail(ErrorCode::kInvalidArgument, "the position is beyond the last change");
  }
  // A position never goes back: what it covered may have been deleted.
  TRY(op.session.exec(
      "UPDATE node_session SET expires_lc = ?, position = CASE WHEN position < ? THEN ? ELSE "
      "position END WHERE node = ?",
      op.lease_ms + renewal.ttl_ms, renewal.position, renewal.position, ref.node));
  TRY(op.session.exec("DELETE FROM hold WHERE node = ?", ref.node));
  for (const ObjectId& id : renewal.holds) {
    TRY(
        op.session.exec("INSERT INTO hold (node, object) SELECT ?, number FROM object WHERE number "
                        "= ? AND nonce = ? ON CONFLICT DO NOTHING",
                        ref.node, id.number, id.nonce));
  }
  return {};
}

Status end_session(Operation& op, const NodeRef& ref) {
  const std::int64_t ended = TRY(op.session.exec(
      "UPDATE node_session SET ended = 1 WHERE node = ? AND epoch = ? AND ended = 0", ref.node,
      ref.epoch));
  return ended == 0 ? Status() : clear(op, ref.node);
}

Result<std::int64_t> end_expired_sessions(Operation& op, std::int64_t limit) {
  const auto rows = TRY(
      op.session.rows("SELECT node, epoch FROM node_session WHERE ended = 0 AND expires_lc <= ? "
                      "ORDER BY node LIMIT ?",
                      op.lease_ms, limit));
  for (const db::Row& row : rows)
    TRY_VOID(end_session(op, {row.text(0), row.integer(1)}));
  return static_cast<std::int64_t>(rows.size());
}

}  // namespace loam::meta
