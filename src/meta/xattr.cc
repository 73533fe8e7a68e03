// SPDX-License-Identifier: Apache-2.0
#include "meta/xattr.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "meta/change.h"
#include "meta/setattr.h"

namespace loam::meta {

namespace {

tl::unexpected<Error> missing(std::int64_t inode, const std::string& name) {
  return fail(ErrorCode::kNotFound,
              fmt::format("inode {} has no attribute '{}'", inode, printable(name)));
}

Status check_bounds(const std::string& name, const std::string& value) {
  if (name.empty() || name.find('\0') != std::string::npos) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' cannot be an attribute's name", printable(name)));
  }
  if (name.size() <= kMaxXattrName && value.size() <= kMaxXattrValue) return {};
  return fail(ErrorCode::kTooLarge,
              fmt::format("an attribute's name has at most {} bytes, its value {}", kMaxXattrName,
                          kMaxXattrValue));
}

}  // namespace

Result<std::string> get_xattr(db::Session& session, std::int64_t inode, const std::string& name) {
  const auto row =
      TRY(session.row("SELECT value FROM xattr WHERE inode = ? AND name = ?", inode, name));
  if (!row) return missing(inode, name);
  return row->text(0);
}

Result<std::vector<std::string>> list_xattrs(db::Session& session, std::int64_t inode) {
  TRY(getattr(session, inode));
  std::vector<std::string> out;
  for (const db::Row& row :
       TRY(session.rows("SELECT name FROM xattr WHERE inode = ? ORDER BY name", inode))) {
    out.push_back(row.text(0));
  }
  return out;
}

Status set_xattr(Operation& op, std::int64_t inode, const std::string& name,
                 const std::string& value, XattrMode mode) {
  TRY_VOID(check_bounds(name, value));
  // Sets ctime, logs the change and refuses what is sealed.
  TRY(setattr(op, inode, {}));
  const auto there =
      TRY(op.session.row("SELECT 1 FROM xattr WHERE inode = ? AND name = ?", inode, name));
  if (there && mode == XattrMode::kCreate) {
    return fail(ErrorCode::kAlreadyExists,
                fmt::format("inode {} has the attribute '{}'", inode, printable(name)));
  }
  if (!there && mode == XattrMode::kReplace) return missing(inode, name);
  TRY(
      op.session.exec("INSERT INTO xattr (inode, name, value) VALUES (?, ?, ?) ON CONFLICT (inode, "
                      "name) DO UPDATE SET value = excluded.value",
                      inode, name, value));
  std::int64_t total = 0;
  for (const db::Row& row :
       TRY(op.session.rows("SELECT name, value FROM xattr WHERE inode = ?", inode))) {
    total += static_cast<std::int64_t>(row.text(0).size() + row.text(1).size());
  }
  if (total <= kMaxXattrTotal) return {};
  return fail(ErrorCode::kTooLarge,
              fmt::format("an inode's attributes have at most {} bytes", kMaxXattrTotal));
}

Status remove_xattr(Operation& op, std::int64_t inode, const std::string& name) {
  TRY(setattr(op, inode, {}));
  const std::int64_t removed =
      TRY(op.session.exec("DELETE FROM xattr WHERE inode = ? AND name = ?", inode, name));
  return removed == 0 ? Status(missing(inode, name)) : Status();
}

}  // namespace loam::meta
