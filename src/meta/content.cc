// SPDX-License-Identifier: Apache-2.0
#include "meta/content.h"

#include <fmt/format.h>

#include "meta/change.h"
#include "meta/entry.h"
#include "meta/object.h"
#include "meta/policy.h"

namespace loam::meta {

namespace {

struct Version {
  std::int64_t generation = 0;
  std::int64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::optional<std::int64_t> keep_until_lc;
};

// Newest first.
Result<std::vector<Version>> versions_of(db::Session& session, std::int64_t inode) {
  std::vector<Version> out;
  for (const db::Row& row : TRY(session.rows(
           "SELECT generation, size, mtime_ns, keep_until_lc FROM file_version WHERE inode = ? "
           "ORDER BY generation DESC",
           inode))) {
    out.push_back({row.integer(0), row.integer(1), row.integer(2), row.opt_integer(3)});
  }
  return out;
}

Result<bool> is_stored(db::Session& session, std::int64_t inode, std::int64_t generation) {
  return !TRY(session.row("SELECT 1 FROM extent e JOIN object o ON o.number = e.object WHERE "
                          "e.inode = ? AND e.generation = ? AND o.state <> 3 LIMIT 1",
                          inode, generation))
              .has_value();
}

Result<bool> needs(db::Session& session, std::int64_t inode, std::int64_t generation,
                   std::int64_t object) {
  return TRY(session.row("SELECT 1 FROM extent WHERE inode = ? AND generation = ? AND object = ? "
                         "LIMIT 1",
                         inode, generation, object))
      .has_value();
}

// Removes a generation's extents; objects that no other kept generation needs are retired.
Status drop_extents(Operation& op, std::int64_t inode, std::int64_t generation) {
  const auto objects =
      TRY(op.session.rows("SELECT DISTINCT object FROM extent WHERE inode = ? AND generation = ? "
                          "ORDER BY object",
                          inode, generation));
  TRY(op.session.exec("DELETE FROM extent WHERE inode = ? AND generation = ?", inode, generation));
  for (const db::Row& row : objects) {
    const auto needed = TRY(op.session.row(
        "SELECT 1 FROM extent WHERE inode = ? AND object = ? LIMIT 1", inode, row.integer(0)));
    if (!needed) TRY_VOID(retire_object(op, row.integer(0)));
  }
  return {};
}

Status drop_version(Operation& op, std::int64_t inode, std::int64_t generation) {
  TRY(op.session.exec("DELETE FROM file_version WHERE inode = ? AND generation = ?", inode,
                      generation));
  return drop_extents(op, inode, generation);
}

// Inode, usage and log: the file has this size and generation now.
Status write_inode(Operation& op, const Attributes& file, std::int64_t size,
                   std::int64_t mtime_ns) {
  TRY(op.session.exec(
      "UPDATE inode SET size = ?, size_class = ?, mtime_ns = ?, ctime_ns = ?, generation = ? "
      "WHERE id = ?",
      size, size_class(size), mtime_ns, op.wall_ns(), file.generation + 1, file.inode));
  if (file.nlink > 0 && size != file.size) {
    const Dentry home = TRY(get_home(op.session, file));
    TRY_VOID(add_usage(op, home.place.parent, {size - file.size, 0}));
  }
  TRY(log_change(op, ChangeKind::kContent, file.inode));
  return {};
}

Status settle(Operation& op, std::int64_t inode, std::int64_t generation) {
  const std::vector<Version> versions = TRY(versions_of(op.session, inode));
  if (versions.empty()) return {};
  bool safe = TRY(is_stored(op.session, inode, generation));
  std::size_t undo = 0;
  for (const Version& version : versions) {
    const bool kept = version.keep_until_lc.value_or(0) > op.lease_ms;
    if (safe) {
      if (!kept) TRY_VOID(drop_version(op, inode, version.generation));
      continue;
    }
    safe = TRY(is_stored(op.session, inode, version.generation));
    // The first that is stored is what everything can fall back to; those between give way.
    if (!safe && !kept && ++undo > kMaxUndoVersions) {
      TRY_VOID(drop_version(op, inode, version.generation));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Extent>> read_extents(db::Session& session, std::int64_t inode,
                                         std::int64_t generation) {
  std::vector<Extent> out;
  for (const db::Row& row : TRY(session.rows(
           "SELECT e.file_offset, e.length, e.object, o.nonce, e.object_offset FROM extent e JOIN "
           "object o ON o.number = e.object WHERE e.inode = ? AND e.generation = ? "
           "ORDER BY e.file_offset",
           inode, generation))) {
    out.push_back(
        {row.integer(0), row.integer(1), {row.integer(2), row.integer(3)}, row.integer(4)});
  }
  return out;
}

Status admit_content(Operation& op, const Attributes& file, std::int64_t size) {
  if (size > kMaxFileBytes) {
    return fail(ErrorCode::kTooLarge,
                fmt::format("a file has at most {} bytes, not {}", kMaxFileBytes, size));
  }
  if (file.nlink == 0) return {};
  const Dentry home = TRY(get_home(op.session, file));
  const Policies policies = TRY(get_policies(op.session, home.place.parent));
  if (policies.sealed) {
    return fail(ErrorCode::kReadOnly, fmt::format("{} is sealed", to_string(home.place)));
  }
  return admit_growth(op, policies, {size - file.size, 0});
}

Result<std::int64_t> put_content(Operation& op, const Attributes& file, const Content& content,
                                 bool overwritten) {
  const std::int64_t generation = file.generation + 1;
  for (const Extent& extent : content.extents) {
    TRY(op.session.exec(
        "INSERT INTO extent (inode, generation, file_offset, length, object, object_offset) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        file.inode, generation, extent.file_offset, extent.length, extent.object.number,
        extent.object_offset));
  }
  std::optional<std::int64_t> keep_until_lc;
  if (overwritten) {
    keep_until_lc = op.lease_ms + kKeepOverwrittenMs;
    TRY(op.session.exec("UPDATE namespace SET conflicts = conflicts + 1 WHERE id = 1"));
  }
  if (file.size > 0) {
    TRY(op.session.exec(
        "INSERT INTO file_version (inode, generation, size, mtime_ns, keep_until_lc) "
        "VALUES (?, ?, ?, ?, ?)",
        file.inode, file.generation, file.size, file.mtime_ns, keep_until_lc));
  }
  TRY_VOID(write_inode(op, file, content.size, content.mtime_ns));
  TRY_VOID(settle(op, file.inode, generation));
  return generation;
}

Status settle_versions(Operation& op, std::int64_t inode) {
  const auto row = TRY(op.session.row("SELECT generation FROM inode WHERE id = ?", inode));
  return row ? settle(op, inode, row->integer(0)) : Status();
}

Result<std::int64_t> expire_versions(Operation& op, std::int64_t limit) {
  const auto rows = TRY(
      op.session.rows("SELECT inode, generation FROM file_version WHERE keep_until_lc IS NOT NULL "
                      "AND keep_until_lc <= ? ORDER BY keep_until_lc LIMIT ?",
                      op.lease_ms, limit));
  for (const db::Row& row : rows) {
    TRY(op.session.exec(
        "UPDATE file_version SET keep_until_lc = NULL WHERE inode = ? AND generation = ?",
        row.integer(0), row.integer(1)));
    TRY_VOID(settle_versions(op, row.integer(0)));
  }
  return static_cast<std::int64_t>(rows.size());
}

Result<bool> roll_back(Operation& op, std::int64_t inode, std::int64_t object,
                       const std::string& node) {
  const Attributes file = TRY(getattr(op.session, inode));
  const bool concerned = TRY(needs(op.session, inode, file.generation, object));
  std::optional<Version> restored;
  for (const Version& version : TRY(versions_of(op.session, inode))) {
    if (TRY(needs(op.session, inode, version.generation, object))) {
      TRY_VOID(drop_version(op, inode, version.generation));
    } else if (!restored) {
      restored = version;
    }
  }
  if (!concerned) return false;
  std::optional<std::int64_t> from;
  if (restored) {
    from = restored->generation;
    TRY(op.session.exec("UPDATE extent SET generation = ? WHERE inode = ? AND generation = ?",
                        file.generation + 1, inode, *from));
    TRY(op.session.exec("DELETE FROM file_version WHERE inode = ? AND generation = ?", inode,
                        *from));
  }
  TRY_VOID(write_inode(op, file, restored ? restored->size : 0,
                       restored ? restored->mtime_ns : file.mtime_ns));
  TRY_VOID(drop_extents(op, inode, file.generation));
  TRY_VOID(settle(op, inode, file.generation + 1));
  TRY(op.session.exec(
      "INSERT INTO loss (id, inode, generation, restored, bytes, node, at_ns) SELECT "
      "coalesce(max(id), 0) + 1, ?, ?, ?, ?, ?, ? FROM loss",
      inode, file.generation, from, file.size, node, op.wall_ns()));
  return true;
}

Status drop_content(Operation& op, std::int64_t inode) {
  for (const Version& version : TRY(versions_of(op.session, inode)))
    TRY_VOID(drop_version(op, inode, version.generation));
  const auto rows =
      TRY(op.session.rows("SELECT DISTINCT generation FROM extent WHERE inode = ?", inode));
  for (const db::Row& row : rows)
    TRY_VOID(drop_extents(op, inode, row.integer(0)));
  return {};
}

}  // namespace loam::meta
