// SPDX-License-Identifier: Apache-2.0
#include "meta/ancestry.h"

#include <fmt/format.h>

#include "meta/inode.h"

namespace loam::meta {

Result<bool> is_within(db::Session& session, std::int64_t directory, std::int64_t ancestor) {
  if (ancestor == kRootInode || directory == ancestor) return true;
  static const std::string kSql = fmt::format("{}SELECT 1 FROM up WHERE dir = ? LIMIT 1", kWithUp);
  return TRY(session.row(kSql, directory, ancestor)).has_value();
}

Result<std::string> path_of(db::Session& session, std::int64_t inode) {
  if (inode == kRootInode) return std::string("/");
  static const std::string kSql = fmt::format(
      "{}SELECT d.name, d.parent FROM up JOIN inode i ON i.id = up.dir JOIN dentry d ON d.id = "
      "i.home ORDER BY up.depth DESC",
      kWithUp);
  const auto rows = TRY(session.rows(kSql, inode));
  if (rows.empty()) {
    return fail(ErrorCode::kNotFound, fmt::format("inode {} has no path", inode));
  }
  std::string path;
  for (const db::Row& row : rows)
    path += "/" + row.text(0);
  return path;
}

}  // namespace loam::meta
