// SPDX-License-Identifier: Apache-2.0
#include "meta/inode.h"

#include <fmt/format.h>

#include <bit>

namespace loam::meta {

Attributes attributes_from(const db::Row& row, std::size_t first) {
  Attributes out;
  out.inode = row.integer(first);
  out.type = static_cast<InodeType>(row.integer(first + 1));
  out.mode = row.integer(first + 2);
  out.uid = row.integer(first + 3);
  out.gid = row.integer(first + 4);
  out.nlink = row.integer(first + 5);
  out.size = row.integer(first + 6);
  out.mtime_ns = row.integer(first + 7);
  out.ctime_ns = row.integer(first + 8);
  out.atime_ns = row.opt_integer(first + 9).value_or(out.mtime_ns);
  out.generation = row.integer(first + 10);
  out.home = row.integer(first + 11);
  return out;
}

std::int64_t size_class(std::int64_t size) {
  return std::bit_width(static_cast<std::uint64_t>(size));
}

Result<Attributes> getattr(db::Session& session, std::int64_t inode) {
  static const std::string kSql =
      fmt::format("SELECT {} FROM inode i WHERE i.id = ?", kAttributeColumns);
  const auto row = TRY(session.row(kSql, inode));
  if (!row) return fail(ErrorCode::kNotFound, fmt::format("there is no inode {}", inode));
  return attributes_from(*row);
}

Result<Attributes> get_directory(db::Session& session, std::int64_t inode) {
  Attributes attributes = TRY(getattr(session, inode));
  if (!attributes.is_directory()) {
    return fail(ErrorCode::kNotDirectory, fmt::format("inode {} is not a directory", inode));
  }
  return attributes;
}

Status insert_inode(Operation& op, const Attributes& a) {
  TRY(op.session.exec(
      "INSERT INTO inode (id, type, mode, uid, gid, nlink, size, size_class, mtime_ns, ctime_ns, "
      "generation, home) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      a.inode, static_cast<std::int64_t>(a.type), a.mode, a.uid, a.gid, a.nlink, a.size,
      size_class(a.size), a.mtime_ns, a.ctime_ns, a.generation, a.home));
  return {};
}

Status touch_directory(Operation& op, std::int64_t directory, std::int64_t subdirectories) {
  TRY(op.session.exec("UPDATE inode SET mtime_ns = ?, ctime_ns = ?, nlink = nlink + ? WHERE id = ?",
                      op.wall_ns(), op.wall_ns(), subdirectories, directory));
  return {};
}

}  // namespace loam::meta
