// SPDX-License-Identifier: Apache-2.0
#include "meta/readdir.h"

#include <fmt/format.h>

#include <algorithm>

namespace loam::meta {

Result<std::vector<ListedEntry>> readdir(db::Session& session, std::int64_t directory,
                                         std::int64_t cookie, std::int64_t limit) {
  static const std::string kSql = fmt::format(
      "SELECT d.id, d.name, {} FROM dentry d JOIN inode i ON i.id = d.inode WHERE d.parent = ? AND "
      "d.id > ? ORDER BY d.id LIMIT ?",
      kAttributeColumns);
  const auto rows = TRY(
      session.rows(kSql, directory, cookie, std::clamp<std::int64_t>(limit, 1, kMaxListedEntries)));
  if (rows.empty()) TRY(get_directory(session, directory));
  std::vector<ListedEntry> out;
  out.reserve(rows.size());
  for (const db::Row& row : rows)
    out.push_back({row.integer(0), row.text(1), attributes_from(row, 2)});
  return out;
}

}  // namespace loam::meta
