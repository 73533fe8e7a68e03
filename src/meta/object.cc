// SPDX-License-Identifier: Apache-2.0
#include "meta/object.h"

#include <fmt/format.h>

#include "meta/inode.h"
#include "meta/numbers.h"
#include "meta/object_key.h"

namespace loam::meta {

namespace {

constexpr std::string_view kColumns =
    "inode, length, state, generation, coalesce(node, ''), coalesce(epoch, 0), keyed, key, etag, "
    "coalesce(crcs, ''), number, nonce";

Object object_from(const db::Row& row) {
  Object out{
      .id = {row.integer(10), row.integer(11)}, .inode = row.integer(0), .length = row.integer(1)};
  out.state = static_cast<ObjectState>(row.integer(2));
  out.generation = row.integer(3);
  out.node = row.text(4);
  out.epoch = row.integer(5);
  out.key = key_from_row(out.id, row.integer(6), row.opt_text(7));
  out.etag = row.opt_text(8);
  out.crcs = row.text(9);
  return out;
}

Result<ObjectId> reserve(Operation& op, const NodeRef& ref, std::int64_t inode) {
  const ObjectId id{TRY(take_numbers(op, {.object = 1})).object,
                    static_cast<std::int64_t>(op.random.next())};
  TRY(op.session.exec(
      "INSERT INTO object (number, nonce, inode, length, state, generation, node, epoch, keyed) "
      "VALUES (?, ?, ?, 0, 1, 0, ?, ?, 0)",
      id.number, id.nonce, inode, ref.node, ref.epoch));
  return id;
}

// An object that this session has reserved; nothing if it is something else by now.
Result<std::optional<Object>> find_reserved(Operation& op, const NodeRef& ref, const ObjectId& id) {
  auto object = get_object(op.session, id);
  if (!object && object.error().code == ErrorCode::kNotFound) return std::optional<Object>();
  if (!object) return fail(std::move(object).error());
  if (!is_reserved_by(*object, ref)) return std::optional<Object>();
  return std::optional<Object>(std::move(*object));
}

Result<std::int64_t> check_file(Operation& op, std::int64_t inode) {
  if (TRY(getattr(op.session, inode)).type == InodeType::kFile) return inode;
  return fail(ErrorCode::kInvalidArgument, fmt::format("inode {} is no file", inode));
}

}  // namespace

Result<Object> get_object(db::Session& session, const ObjectId& id) {
  static const std::string kSql =
      fmt::format("SELECT {} FROM object WHERE number = ? AND nonce = ?", kColumns);
  const auto row = TRY(session.row(kSql, id.number, id.nonce));
  if (row) return object_from(*row);
  return fail(ErrorCode::kNotFound, fmt::format("there is no object {}", to_string(id)));
}

Result<std::vector<Object>> list_stored(db::Session& session, std::int64_t after,
                                        std::int64_t limit) {
  static const std::string kSql = fmt::format(
      "SELECT {} FROM object WHERE number > ? AND state = 3 ORDER BY number LIMIT ?", kColumns);
  std::vector<Object> out;
  for (const db::Row& row : TRY(session.rows(kSql, after, limit)))
    out.push_back(object_from(row));
  return out;
}

bool is_reserved_by(const Object& object, const NodeRef& ref) {
  return object.state == ObjectState::kWriting && object.node == ref.node &&
         object.epoch == ref.epoch;
}

Result<ObjectId> reserve_object(Operation& op, const NodeRef& ref, std::int64_t inode) {
  TRY_VOID(check_session(op, ref));
  return reserve(op, ref, TRY(check_file(op, inode)));
}

Result<ObjectId> reserve_unbound(Operation& op, const NodeRef& ref) {
  TRY_VOID(check_session(op, ref));
  return reserve(op, ref, 0);
}

Status bind_object(Operation& op, const NodeRef& ref, const ObjectId& id, std::int64_t inode) {
  TRY_VOID(check_session(op, ref));
  TRY(check_file(op, inode));
  const Object object = TRY(get_object(op.session, id));
  if (object.inode == inode) return {};
  if (object.inode != 0 || !is_reserved_by(object, ref)) {
    return fail(ErrorCode::kConflict,
                fmt::format("object {} is not to be bound to a file", to_string(id)));
  }
  TRY(op.session.exec("UPDATE object SET inode = ? WHERE number = ?", inode, id.number));
  return {};
}

Status abandon_object(Operation& op, const NodeRef& ref, const ObjectId& id) {
  const auto object = TRY(find_reserved(op, ref, id));
  if (!object) return {};
  if (object->key) return retire_object(op, id.number);
  TRY(op.session.exec("DELETE FROM object WHERE number = ?", id.number));
  return {};
}

Status abandon_reserved(Operation& op, const std::string& node) {
  for (const db::Row& row : TRY(op.session.rows(
           "SELECT number FROM object WHERE state = 1 AND node = ? AND keyed <> 0", node))) {
    TRY_VOID(retire_object(op, row.integer(0)));
  }
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
