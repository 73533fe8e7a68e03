// SPDX-License-Identifier: Apache-2.0
#include "meta/usage.h"

#include "meta/ancestry.h"

namespace loam::meta {

Status add_usage(Operation& op, std::int64_t directory, const Usage& delta) {
  if (delta.bytes == 0 && delta.files == 0) return {};
  TRY(op.session.exec(
      "INSERT INTO usage_delta (folding, dir, bytes, files) VALUES (0, ?, ?, ?) "
      "ON CONFLICT (folding, dir) DO UPDATE SET bytes = usage_delta.bytes + excluded.bytes, "
      "files = usage_delta.files + excluded.files",
      directory, delta.bytes, delta.files));
  return {};
}

Status move_directory_usage(Operation& op, std::int64_t directory, std::int64_t from,
                            std::int64_t to) {
  const Usage below = TRY(disk_usage(op.session, directory));
  TRY_VOID(add_usage(op, from, {-below.bytes, -below.files - 1}));
  if (to != 0) return add_usage(op, to, {below.bytes, below.files + 1});
  // An empty directory's delta only takes back what its usage says.
  TRY(op.session.exec("DELETE FROM usage_delta WHERE folding = 0 AND dir = ?", directory));
  TRY(op.session.exec("DELETE FROM usage WHERE dir = ?", directory));
  return {};
}

Result<std::int64_t> fold_usage(Operation& op, std::int64_t limit) {
  const std::int64_t taken = TRY(op.session.exec(
      "UPDATE usage_delta SET folding = 1 WHERE folding = 0 AND dir IN (SELECT dir FROM "
      "usage_delta WHERE folding = 0 ORDER BY dir DESC LIMIT ?)",
      limit));
  if (taken == 0) return 0;
  TRY(op.session.exec(
      "INSERT INTO usage (dir, bytes, files) SELECT dir, bytes, files FROM "
      "usage_delta WHERE folding = 1 ON CONFLICT (dir) DO UPDATE SET "
      "bytes = usage.bytes + excluded.bytes, files = usage.files + excluded.files"));
  TRY(op.session.exec(
      "INSERT INTO usage_delta (folding, dir, bytes, files) SELECT 0, d.parent, sum(u.bytes), "
      "sum(u.files) FROM usage_delta u JOIN inode i ON i.id = u.dir JOIN dentry d ON d.id = i.home "
      "WHERE u.folding = 1 AND (u.bytes <> 0 OR u.files <> 0) GROUP BY d.parent "
      "ON CONFLICT (folding, dir) DO UPDATE SET bytes = usage_delta.bytes + excluded.bytes, "
      "files = usage_delta.files + excluded.files"));
  TRY(op.session.exec("DELETE FROM usage_delta WHERE folding = 1"));
  return taken;
}

Status fold_all_usage(Operation& op) {
  // Each round takes all there is one level up.
  for (std::int64_t round = 0; round <= kMaxDepth; ++round) {
    if (TRY(fold_usage(op, INT64_MAX)) == 0) return {};
  }
  return fail(ErrorCode::kInternal, "the tree is too deep for its usage to be folded");
}

Result<Usage> disk_usage(db::Session& session, std::int64_t directory) {
  const auto row = TRY(session.row("SELECT bytes, files FROM usage WHERE dir = ?", directory));
  return row ? Usage{row->integer(0), row->integer(1)} : Usage{};
}

}  // namespace loam::meta
