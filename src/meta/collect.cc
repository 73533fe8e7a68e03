// SPDX-License-Identifier: Apache-2.0
#include "meta/collect.h"

#include <fmt/format.h>

#include "base/check.h"
#include "meta/content.h"
#include "meta/object.h"
#include "meta/object_key.h"

namespace loam::meta {

namespace {

// The change that every live node has taken note of.
Result<std::int64_t> acknowledged(db::Session& session, std::int64_t lease_ms) {
  const auto row = TRY(session.row(
      "SELECT min(position) FROM node_session WHERE ended = 0 AND expires_lc > ?", lease_ms));
  CHECK(row.has_value());
  return row->opt_integer(0).value_or(INT64_MAX);
}

}  // namespace

Result<std::int64_t> collect_orphans(Operation& op, std::int64_t grace_ms, std::int64_t limit) {
  const auto rows = TRY(op.session.rows(
      "SELECT r.inode, r.position, r.orphaned_lc FROM orphan r WHERE r.position <= ? AND "
      "r.orphaned_lc <= ? AND NOT EXISTS (SELECT 1 FROM extent e JOIN hold h ON h.object = "
      "e.object "
      "JOIN node_session s ON s.node = h.node WHERE e.inode = r.inode AND s.ended = 0 AND "
      "s.expires_lc > ?) ORDER BY r.inode LIMIT ?",
      TRY(acknowledged(op.session, op.lease_ms)), op.lease_ms - grace_ms, op.lease_ms, limit));
  for (const db::Row& row : rows) {
    const std::int64_t inode = row.integer(0);
    const auto objects = TRY(op.session.rows(
        "SELECT DISTINCT object FROM extent WHERE inode = ? ORDER BY object", inode));
    TRY_VOID(drop_content(op, inode));
    for (const db::Row& object : objects) {
      TRY(op.session.exec("UPDATE retired SET position = ?, retired_lc = ? WHERE object = ?",
                          row.integer(1), row.integer(2), object.integer(0)));
    }
    TRY(op.session.exec("DELETE FROM xattr WHERE inode = ?", inode));
    TRY(op.session.exec("DELETE FROM file_lock WHERE inode = ?", inode));
    TRY(op.session.exec("DELETE FROM orphan WHERE inode = ?", inode));
    TRY(op.session.exec("DELETE FROM inode WHERE id = ?", inode));
  }
  return static_cast<std::int64_t>(rows.size());
}

Result<std::vector<Collectible>> list_collectible(db::Session& session, std::int64_t lease_ms,
                                                  std::int64_t grace_ms, std::int64_t limit) {
  std::vector<Collectible> out;
  for (const db::Row& row : TRY(session.rows(
           "SELECT o.number, o.nonce, o.keyed, o.key FROM retired r JOIN object o ON o.number = "
           "r.object WHERE r.position <= ? AND r.retired_lc <= ? AND NOT EXISTS (SELECT 1 FROM "
           "hold "
           "h JOIN node_session s ON s.node = h.node WHERE h.object = r.object AND s.ended = 0 AND "
           "s.expires_lc > ?) ORDER BY r.object LIMIT ?",
           TRY(acknowledged(session, lease_ms)), lease_ms - grace_ms, lease_ms, limit))) {
    const ObjectId id{row.integer(0), row.integer(1)};
    out.push_back({id, key_from_row(id, row.integer(2), row.opt_text(3))});
  }
  return out;
}

Status finish_deletion(Operation& op, const ObjectId& id) {
  const auto object = get_object(op.session, id);
  if (!object && object.error().code == ErrorCode::kNotFound) return {};
  if (!object) return fail(object.error());
  if (object->state == ObjectState::kDeleted) return {};
  if (object->state != ObjectState::kRetired) {
    return fail(ErrorCode::kConflict, fmt::format("object {} is not retired", to_string(id)));
  }
  TRY(op.session.exec("DELETE FROM retired WHERE object = ?", id.number));
  TRY(op.session.exec("DELETE FROM hold WHERE object = ?", id.number));
  TRY(
      op.session.exec("UPDATE object SET state = 5, crcs = NULL, etag = NULL WHERE number = ? AND "
                      "keyed = 1",
                      id.number));
  TRY(op.session.exec("DELETE FROM object WHERE number = ? AND keyed <> 1", id.number));
  return {};
}

}  // namespace loam::meta
