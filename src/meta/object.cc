// SPDX-License-Identifier: Apache-2.0
#include "meta/object.h"

#include <fmt/format.h>

#include "meta/inode.h"
#include "meta/numbers.h"
#include "meta/object_key.h"

namespace loam::meta {

Result<Object> get_object(db::Session& session, const ObjectId& id) {
  const auto row = TRY(session.row(
      "SELECT inode, length, state, generation, coalesce(node, ''), coalesce(epoch, 0), "
      "keyed, key, etag, coalesce(crcs, '') FROM object WHERE number = ? AND nonce = ?",
      id.number, id.nonce));
  if (!row) return fail(ErrorCode::kNotFound, fmt::format("there is no object {}", to_string(id)));
  Object out{.id = id, .inode = row->integer(0), .length = row->integer(1)};
  out.state = static_cast<ObjectState>(row->integer(2));
  out.generation = row->integer(3);
  out.node = row->text(4);
  out.epoch = row->integer(5);
  out.key = key_from_row(id, row->integer(6), row->opt_text(7));
  out.etag = row->opt_text(8);
  out.crcs = row->text(9);
  return out;
}

Result<ObjectId> reserve_object(Operation& op, const NodeRef& ref, std::int64_t inode) {
  TRY_VOID(check_session(op, ref));
  if (TRY(getattr(op.session, inode)).type != InodeType::kFile) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("inode {} is no file", inode));
  }
  const ObjectId id{TRY(take_numbers(op, {.object = 1})).object,
                    static_cast<std::int64_t>(op.random.next())};
  TRY(op.session.exec(
      "INSERT INTO object (number, nonce, inode, length, state, generation, node, epoch, keyed) "
      "VALUES (?, ?, ?, 0, 1, 0, ?, ?, 0)",
      id.number, id.nonce, inode, ref.node, ref.epoch));
  return id;
}

Status abandon_reserved(Operation& op, const std::string& node) {
  TRY(op.session.exec("DELETE FROM object WHERE state = 1 AND node = ?", node));
  return {};
}

Status add_holder(Operation& op, const NodeRef& ref, const ObjectId& id) {
  TRY_VOID(check_session(op, ref));
  const Object object = TRY(get_object(op.session, id));
  if (object.state == ObjectState::kStored) return {};
  if (object.state != ObjectState::kStaged) {
    return fail(ErrorCode::kConflict, fmt::format("object {} is not staged", to_string(id)));
  }
  TRY(op.session.exec("INSERT INTO holder (object, node) VALUES (?, ?) ON CONFLICT DO NOTHING",
                      id.number, ref.node));
  return {};
}

Result<std::vector<std::string>> holders_of(db::Session& session, std::int64_t object) {
  std::vector<std::string> out;
  for (const db::Row& row :
       TRY(session.rows("SELECT node FROM holder WHERE object = ? ORDER BY node", object))) {
    out.push_back(row.text(0));
  }
  return out;
}

Status retire_object(Operation& op, std::int64_t object) {
  TRY(op.session.exec("UPDATE object SET state = 4, node = NULL, epoch = NULL WHERE number = ?",
                      object));
  TRY(op.session.exec("DELETE FROM holder WHERE object = ?", object));
  TRY(op.session.exec("INSERT INTO retired (object, position, retired_lc) VALUES (?, ?, ?)", object,
                      TRY(last_change(op.session)), op.lease_ms));
  return {};
}

}  // namespace loam::meta
