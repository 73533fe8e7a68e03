// SPDX-License-Identifier: Apache-2.0
#include "meta/policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "meta/ancestry.h"
#include "meta/change.h"

namespace loam::meta {

namespace {

Status set_column(Operation& op, std::int64_t directory, std::string_view sql,
                  std::optional<std::int64_t> value) {
  TRY(get_directory(op.session, directory));
  TRY(
      op.session.exec("INSERT INTO policy (dir, durability, sealed, shared) VALUES (?, NULL, 0, 0) "
                      "ON CONFLICT DO NOTHING",
                      directory));
  TRY(op.session.exec(sql, value, directory));
  TRY(
      op.session.exec("DELETE FROM policy WHERE dir = ? AND durability IS NULL AND sealed = 0 "
                      "AND shared = 0",
                      directory));
  TRY(log_change(op, ChangeKind::kPolicy, directory));
  return {};
}

bool fits(const Quota& quota, const Usage& used, const Usage& growth) {
  return (growth.bytes <= 0 || !quota.max_bytes || used.bytes + growth.bytes <= *quota.max_bytes) &&
         (growth.files <= 0 || !quota.max_files || used.files + growth.files <= *quota.max_files);
}

// No directory can have more than this on its way to it.
Result<Usage> pending_growth(db::Session& session) {
  const auto row = TRY(
      session.row("SELECT coalesce(sum(CASE WHEN bytes > 0 THEN bytes END), 0), coalesce(sum(CASE "
                  "WHEN files > 0 THEN files END), 0) FROM usage_delta"));
  return Usage{row->integer(0), row->integer(1)};
}

}  // namespace

Result<Policies> get_policies(db::Session& session, std::int64_t directory) {
  // Where nobody has set anything the walk is spared.
  static constexpr std::string_view kSql =
      "WITH RECURSIVE up (dir, depth) AS (SELECT ?, 0 WHERE EXISTS (SELECT 1 FROM policy) OR "
      "EXISTS "
      "(SELECT 1 FROM quota) UNION ALL SELECT d.parent, up.depth + 1 FROM up JOIN inode i ON i.id "
      "= "
      "up.dir JOIN dentry d ON d.id = i.home WHERE up.depth < 100000) "
      "SELECT up.dir, p.durability, p.sealed, p.shared, q.dir, q.max_bytes, q.max_files FROM up "
      "LEFT JOIN policy p ON p.dir = up.dir LEFT JOIN quota q ON q.dir = up.dir "
      "WHERE p.dir IS NOT NULL OR q.dir IS NOT NULL ORDER BY up.depth";
  Policies out;
  bool durability_known = false;
  for (const db::Row& row : TRY(session.rows(kSql, directory))) {
    const auto durability = row.opt_integer(1);
    if (durability && !durability_known) {
      durability_known = true;
      out.durability = static_cast<Durability>(*durability);
    }
    out.sealed = out.sealed || row.opt_integer(2).value_or(0) != 0;
    out.shared = out.shared || row.opt_integer(3).value_or(0) != 0;
    if (!row.is_null(4)) {
      out.quotas.push_back({row.integer(0), row.opt_integer(5), row.opt_integer(6)});
    }
  }
  return out;
}

Status set_durability(Operation& op, std::int64_t directory, std::optional<Durability> durability) {
  std::optional<std::int64_t> value;
  if (durability) value = static_cast<std::int64_t>(*durability);
  return set_column(op, directory, "UPDATE policy SET durability = ? WHERE dir = ?", value);
}

Status set_sealed(Operation& op, std::int64_t directory, bool sealed) {
  return set_column(op, directory, "UPDATE policy SET sealed = ? WHERE dir = ?", sealed ? 1 : 0);
}

Status set_shared(Operation& op, std::int64_t directory, bool shared) {
  return set_column(op, directory, "UPDATE policy SET shared = ? WHERE dir = ?", shared ? 1 : 0);
}

Status set_quota(Operation& op, const Quota& quota) {
  if (quota.max_bytes.value_or(0) < 0 || quota.max_files.value_or(0) < 0) {
    return fail(ErrorCode::kInvalidArgument, "a quota is not below 0");
  }
  TRY(get_directory(op.session, quota.directory));
  if (!quota.max_bytes && !quota.max_files) {
    TRY(op.session.exec("DELETE FROM quota WHERE dir = ?", quota.directory));
  } else {
    TRY(op.session.exec(
        "INSERT INTO quota (dir, max_bytes, max_files) VALUES (?, ?, ?) ON CONFLICT "
        "(dir) DO UPDATE SET max_bytes = excluded.max_bytes, max_files = "
        "excluded.max_files",
        quota.directory, quota.max_bytes, quota.max_files));
  }
  TRY(log_change(op, ChangeKind::kPolicy, quota.directory));
  return {};
}

Result<std::optional<Quota>> get_quota(db::Session& session, std::int64_t directory) {
  const auto row =
      TRY(session.row("SELECT max_bytes, max_files FROM quota WHERE dir = ?", directory));
  if (!row) return std::optional<Quota>();
  return std::optional<Quota>(Quota{directory, row->opt_integer(0), row->opt_integer(1)});
}

Status drop_policies(Operation& op, std::int64_t directory) {
  TRY(op.session.exec("DELETE FROM policy WHERE dir = ?", directory));
  TRY(op.session.exec("DELETE FROM quota WHERE dir = ?", directory));
  return {};
}

Result<WritableDirectory> get_writable_directory(db::Session& session, std::int64_t directory) {
  WritableDirectory out{TRY(get_directory(session, directory)),
                        TRY(get_policies(session, directory))};
  if (out.policies.sealed) {
    return fail(ErrorCode::kReadOnly,
                fmt::format("directory {} is sealed, or one above it is", directory));
  }
  return out;
}

Status admit_growth(Operation& op, const Policies& policies, const Usage& growth) {
  if (policies.quotas.empty() || (growth.bytes <= 0 && growth.files <= 0)) return {};
  const Usage pending = TRY(pending_growth(op.session));
  bool folded = false;
  for (const Quota& quota : policies.quotas) {
    const Usage used = TRY(disk_usage(op.session, quota.directory));
    if (fits(quota, {used.bytes + pending.bytes, used.files + pending.files}, growth)) continue;
    if (!folded) TRY_VOID(fold_all_usage(op));
    folded = true;
    if (fits(quota, TRY(disk_usage(op.session, quota.directory)), growth)) continue;
    return fail(ErrorCode::kQuotaExceeded,
                fmt::format("the quota of directory {} leaves no room for this", quota.directory));
  }
  return {};
}

Policies entered_policies(const Policies& from, const Policies& to) {
  Policies out;
  for (const Quota& quota : to.quotas) {
    const bool known = std::any_of(from.quotas.begin(), from.quotas.end(), [&](const Quota& other) {
      return other.directory == quota.directory;
    });
    if (!known) out.quotas.push_back(quota);
  }
  return out;
}

}  // namespace loam::meta
