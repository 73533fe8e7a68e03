// SPDX-License-Identifier: Apache-2.0
#include "meta/lock.h"

#include <fmt/format.h>

#include "meta/inode.h"

namespace loam::meta {

namespace {

// An owner's ranges are kept apart and few; a file with more is used as a database of locks.
constexpr std::int64_t kMaxRanges = 10'000;

Status check(const LockRange& range) {
  if (range.first >= 0 && range.first <= range.last) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} to {} is no range of bytes", range.first, range.last));
}

Status insert(Operation& op, const NodeRef& ref, std::int64_t inode, const LockRange& range,
              bool exclusive) {
  TRY(
      op.session.exec("INSERT INTO file_lock (inode, kind, node, owner, first, last, exclusive) "
                      "VALUES (?, ?, ?, ?, ?, ?, ?)",
                      inode, static_cast<std::int64_t>(range.kind), ref.node, range.owner,
                      range.first, range.last, exclusive));
  return {};
}

// Cuts the range out of what the owner has.
Status cut(Operation& op, const NodeRef& ref, std::int64_t inode, const LockRange& range) {
  const auto kind = static_cast<std::int64_t>(range.kind);
  const auto rows = TRY(op.session.rows(
      "SELECT first, last, exclusive FROM file_lock WHERE inode = ? AND kind = ? AND node = ? AND "
      "owner = ? AND first <= ? AND last >= ?",
      inode, kind, ref.node, range.owner, range.last, range.first));
  for (const db::Row& row : rows) {
    TRY(
        op.session.exec("DELETE FROM file_lock WHERE inode = ? AND kind = ? AND node = ? AND owner "
                        "= ? AND first = ?",
                        inode, kind, ref.node, range.owner, row.integer(0)));
    LockRange rest = range;
    if (row.integer(0) < range.first) {
      rest.first = row.integer(0);
      rest.last = range.first - 1;
      TRY_VOID(insert(op, ref, inode, rest, row.boolean(2)));
    }
    if (row.integer(1) > range.last) {
      rest.first = range.last + 1;
      rest.last = row.integer(1);
      TRY_VOID(insert(op, ref, inode, rest, row.boolean(2)));
    }
  }
  return {};
}

}  // namespace

Result<std::optional<LockHolder>> conflicting_lock(Operation& op, const NodeRef& ref,
                                                   std::int64_t inode, const LockRange& range,
                                                   bool exclusive) {
  TRY_VOID(check(range));
  const auto row = TRY(op.session.row(
      "SELECT l.node, l.owner, l.first, l.last, l.exclusive FROM file_lock l JOIN node_session s "
      "ON "
      "s.node = l.node WHERE l.inode = ? AND l.kind = ? AND l.first <= ? AND l.last >= ? AND "
      "(l.node <> ? OR l.owner <> ?) AND (l.exclusive = 1 OR ? = 1) AND s.ended = 0 AND "
      "s.expires_lc > ? ORDER BY l.first LIMIT 1",
      inode, static_cast<std::int64_t>(range.kind), range.last, range.first, ref.node, range.owner,
      exclusive, op.lease_ms));
  if (!row) return std::optional<LockHolder>();
  return std::optional<LockHolder>(
      LockHolder{row->text(0),
                 {range.kind, row->integer(1), row->integer(2), row->integer(3)},
                 row->boolean(4)});
}

Status take_lock(Operation& op, const NodeRef& ref, std::int64_t inode, const LockRange& range,
                 bool exclusive) {
  TRY_VOID(check_session(op, ref));
  TRY(getattr(op.session, inode));
  if (const auto other = TRY(conflicting_lock(op, ref, inode, range, exclusive))) {
    return fail(ErrorCode::kConflict,
                fmt::format("inode {} is locked by node {}", inode, other->node));
  }
  TRY_VOID(cut(op, ref, inode, range));
  TRY_VOID(insert(op, ref, inode, range, exclusive));
  const auto count = TRY(op.session.row(
      "SELECT count(*) FROM file_lock WHERE inode = ? AND kind = ? AND node = ? AND owner = ?",
      inode, static_cast<std::int64_t>(range.kind), ref.node, range.owner));
  if (count->integer(0) <= kMaxRanges) return {};
  return fail(ErrorCode::kResourceExhausted,
              fmt::format("inode {} has {} ranges locked by one owner", inode, kMaxRanges));
}

Status release_lock(Operation& op, const NodeRef& ref, std::int64_t inode, const LockRange& range) {
  TRY_VOID(check(range));
  TRY_VOID(check_session(op, ref));
  return cut(op, ref, inode, range);
}

}  // namespace loam::meta
