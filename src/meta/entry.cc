// SPDX-License-Identifier: Apache-2.0
#include "meta/entry.h"

#include <fmt/format.h>

#include "base/check.h"

namespace loam::meta {

Result<std::optional<Dentry>> find_entry(db::Session& session, const Place& place) {
  const auto row =
      TRY(session.row("SELECT id, inode, extra FROM dentry WHERE parent = ? AND name = ?",
                      place.parent, place.name));
  if (!row) return std::optional<Dentry>();
  return std::optional<Dentry>(Dentry{row->integer(0), place, row->integer(1), row->boolean(2)});
}

Result<Dentry> get_entry(db::Session& session, const Place& place) {
  TRY_VOID(check_name(place.name));
  auto found = TRY(find_entry(session, place));
  if (found) return std::move(*found);
  TRY(get_directory(session, place.parent));
  return fail(ErrorCode::kNotFound, fmt::format("there is no {}", to_string(place)));
}

Result<Dentry> get_home(db::Session& session, const Attributes& attributes) {
  const auto row = TRY(
      session.row("SELECT parent, name, inode, extra FROM dentry WHERE id = ?", attributes.home));
  CHECK(row.has_value());
  CHECK(row->integer(2) == attributes.inode && !row->boolean(3));
  return Dentry{attributes.home, {row->integer(0), row->text(1)}, attributes.inode, false};
}

Status insert_entry(Operation& op, const Dentry& d) {
  TRY(op.session.exec("INSERT INTO dentry (id, parent, name, inode, extra) VALUES (?, ?, ?, ?, ?)",
                      d.id, d.place.parent, d.place.name, d.inode, d.extra));
  return {};
}

Status remove_entry(Operation& op, const Dentry& dentry) {
  TRY(op.session.exec("DELETE FROM dentry WHERE id = ?", dentry.id));
  return {};
}

Status move_entry(Operation& op, const Dentry& dentry, std::int64_t new_id, const Place& to) {
  TRY(op.session.exec("UPDATE dentry SET id = ?, parent = ?, name = ? WHERE id = ?", new_id,
                      to.parent, to.name, dentry.id));
  return set_home(op, dentry, new_id);
}

Status set_home(Operation& op, const Dentry& dentry, std::int64_t new_id) {
  static constexpr std::string_view kHome = "UPDATE inode SET ctime_ns = ?, home = ? WHERE id = ?";
  static constexpr std::string_view kExtra = "UPDATE inode SET ctime_ns = ? WHERE id = ?";
  if (dentry.extra) {
    TRY(op.session.exec(kExtra, op.wall_ns(), dentry.inode));
  } else {
    TRY(op.session.exec(kHome, op.wall_ns(), new_id, dentry.inode));
  }
  return {};
}

}  // namespace loam::meta
