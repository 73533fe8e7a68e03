// SPDX-License-Identifier: Apache-2.0
#include "meta/unlink.h"

#include <fmt/format.h>

#include "base/check.h"
#include "meta/change.h"
#include "meta/numbers.h"
#include "meta/policy.h"
#include "meta/usage.h"

namespace loam::meta {

namespace {

// The inode is counted at another of its links from now on.
Status find_new_home(Operation& op, const Attributes& attributes) {
  const auto row =
      TRY(op.session.row("SELECT id, parent FROM dentry WHERE inode = ? AND extra = 1 ORDER BY id "
                         "LIMIT 1",
                         attributes.inode));
  CHECK(row.has_value());
  TRY(op.session.exec("UPDATE dentry SET extra = 0 WHERE id = ?", row->integer(0)));
  TRY(op.session.exec("UPDATE inode SET home = ? WHERE id = ?", row->integer(0), attributes.inode));
  return add_usage(op, row->integer(1), {attributes.size, 1});
}

Status drop_last_link(Operation& op, const Attributes& attributes) {
  if (attributes.type != InodeType::kFile) {
    TRY(op.session.exec("DELETE FROM inode WHERE id = ?", attributes.inode));
    TRY(op.session.exec("DELETE FROM symlink WHERE inode = ?", attributes.inode));
    TRY(op.session.exec("DELETE FROM xattr WHERE inode = ?", attributes.inode));
    return {};
  }
  TRY(op.session.exec("UPDATE inode SET nlink = 0, home = 0, ctime_ns = ? WHERE id = ?",
                      op.wall_ns(), attributes.inode));
  TRY(op.session.exec("INSERT INTO orphan (inode, position, orphaned_lc) VALUES (?, ?, ?)",
                      attributes.inode, TRY(last_change(op.session)), op.lease_ms));
  return {};
}

}  // namespace

Result<bool> is_empty(db::Session& session, std::int64_t directory) {
  return !TRY(session.row("SELECT 1 FROM dentry WHERE parent = ? LIMIT 1", directory)).has_value();
}

Status drop_link(Operation& op, const Dentry& dentry, const Attributes& attributes) {
  TRY_VOID(remove_entry(op, dentry));
  if (!dentry.extra) {
    TRY_VOID(add_usage(op, dentry.place.parent, {-attributes.size, -1}));
  }
  if (attributes.nlink == 1) return drop_last_link(op, attributes);
  TRY(op.session.exec("UPDATE inode SET nlink = nlink - 1, ctime_ns = ? WHERE id = ?", op.wall_ns(),
                      attributes.inode));
  TRY(log_change(op, ChangeKind::kAttributes, attributes.inode));
  return dentry.extra ? Status() : find_new_home(op, attributes);
}

Status drop_directory(Operation& op, const Dentry& dentry) {
  TRY_VOID(move_directory_usage(op, dentry.inode, dentry.place.parent, 0));
  TRY_VOID(remove_entry(op, dentry));
  TRY_VOID(drop_policies(op, dentry.inode));
  TRY(op.session.exec("DELETE FROM xattr WHERE inode = ?", dentry.inode));
  TRY(op.session.exec("DELETE FROM file_lock WHERE inode = ?", dentry.inode));
  TRY(op.session.exec("DELETE FROM inode WHERE id = ?", dentry.inode));
  return {};
}

Status unlink_entry(Operation& op, const Place& place) {
  TRY_VOID(check_name(place.name));
  TRY(get_writable_directory(op.session, place.parent));
  const Dentry dentry = TRY(get_entry(op.session, place));
  const Attributes attributes = TRY(getattr(op.session, dentry.inode));
  if (attributes.is_directory()) {
    return fail(ErrorCode::kIsDirectory, fmt::format("{} is a directory", to_string(place)));
  }
  const std::int64_t change = TRY(take_numbers(op, {.change = 1})).change;
  TRY_VOID(write_changes(op, change,
                         {{.kind = ChangeKind::kEntry, .inode = dentry.inode, .place = place}}));
  TRY_VOID(drop_link(op, dentry, attributes));
  return touch_directory(op, place.parent);
}

Status remove_directory(Operation& op, const Place& place) {
  TRY_VOID(check_name(place.name));
  TRY(get_writable_directory(op.session, place.parent));
  const Dentry dentry = TRY(get_entry(op.session, place));
  TRY(get_directory(op.session, dentry.inode));
  if (!TRY(is_empty(op.session, dentry.inode))) {
    return fail(ErrorCode::kNotEmpty, fmt::format("{} is not empty", to_string(place)));
  }
  const std::int64_t change = TRY(take_numbers(op, {.change = 1})).change;
  TRY_VOID(write_changes(op, change,
                         {{.kind = ChangeKind::kEntry, .inode = dentry.inode, .place = place}}));
  TRY_VOID(drop_directory(op, dentry));
  return touch_directory(op, place.parent, -1);
}

}  // namespace loam::meta
