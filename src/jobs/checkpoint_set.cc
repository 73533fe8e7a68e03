// SPDX-License-Identifier: Apache-2.0
#include "jobs/checkpoint_set.h"

#include <fmt/format.h>

#include "base/check.h"
#include "jobs/event.h"
#include "jobs/ledger.h"

namespace loam::jobs {

namespace {

constexpr std::int64_t kLoadFailuresForSuspicion = 3;

CheckpointSet from_row(const db::Row& row) {
  return {row.text(0), row.text(1),    row.integer(2), row.integer(3),
          row.text(4), row.text(5),    row.integer(6), row.integer(7),
          row.text(8), row.boolean(9), row.text(10),   row.integer(11)};
}

Status set_event(Operation& op, const std::string& job, const std::string& node, std::string type,
                 Json data) {
  const auto owner = TRY(op.session.row("SELECT owner FROM job WHERE id = ?", job));
  CHECK(owner.has_value());
  return append_event(op.session, {.at = op.wall_ms,
                                   .owner = owner->text(0),
                                   .job = job,
                                   .node = node,
                                   .type = std::move(type),
                                   .data = std::move(data)});
}

// The recovery point that people see is the newest set that can be resumed from.
Status refresh_committed_step(Operation& op, const std::string& job) {
  TRY(op.session.exec(
      "UPDATE job SET committed_step = (SELECT max(step) FROM checkpoint_set WHERE job_id = ? AND "
      "state = 'committed') WHERE id = ?",
      job, job));
  return {};
}

}  // namespace

Json CheckpointSet::to_json() const {
  Json out{{"id", id},         {"step", step},
           {"epoch", epoch},   {"unit", unit},
           {"bytes", bytes},   {"files", files},
           {"state", state},   {"pinned", pinned},
           {"prefix", prefix}, {"committed", format_utc(committed_at)}};
  if (!message.empty()) out["message"] = message;
  return out;
}

std::string set_prefix(const Lease& lease, std::int64_t step, const std::string& set) {
  return fmt::format("{}ckpt/{}-{}/", lease.prefix, step, set);
}

Status commit_set(Operation& op, const LeaseRef& ref, const SetCommit& commit) {
  const auto known =
      TRY(op.session.row("SELECT job_id, epoch FROM checkpoint_set WHERE id = ?", commit.id));
  if (known) {
    if (known->text(0) == ref.job && known->integer(1) == ref.epoch) return {};
    return fail(ErrorCode::kConflict, fmt::format("the set id {} is taken", commit.id));
  }
  const Lease lease = TRY(check_lease(op, ref));
  TRY(op.session.exec(
      "INSERT INTO checkpoint_set (id, job_id, epoch, step, unit, prefix, bytes, files, state, "
      "pinned, load_failures, message, manifest, committed_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'committed', 0, 0, '', ?, ?)",
      commit.id, ref.job, ref.epoch, commit.step, commit.unit,
      set_prefix(lease, commit.step, commit.id), commit.bytes, commit.files, commit.manifest,
      op.wall_ms));
  TRY_VOID(cover_attempt(op, ref.job, ref.epoch, commit.covered_us));
  // A set can arrive before the renewal that would have told of its step.
  TRY(op.session.exec(
      "UPDATE attempt SET step = ? WHERE job_id = ? AND epoch = ? AND coalesce(step, -1) < ?",
      commit.step, ref.job, ref.epoch, commit.step));
  TRY_VOID(refresh_committed_step(op, ref.job));
  return set_event(op, ref.job, ref.node, "checkpoint.committed",
                   {{"set", commit.id},
                    {"step", commit.step},
                    {"epoch", ref.epoch},
                    {"bytes", commit.bytes},
                    {"files", commit.files}});
}

Status mark_set_bad(Operation& op, const LeaseRef& ref, const std::string& set,
                    const std::string& message) {
  TRY(check_lease(op, ref));
  const std::int64_t changed = TRY(op.session.exec(
      "UPDATE checkpoint_set SET state = 'bad', message = ? WHERE id = ? AND job_id = ? AND "
      "state IN ('committed', 'suspect')",
      message.substr(0, 1'000), set, ref.job));
  if (changed == 0) return {};
  TRY_VOID(refresh_committed_step(op, ref.job));
  return set_event(op, ref.job, ref.node, "checkpoint.bad",
                   {{"set", set}, {"message", message.substr(0, 1'000)}});
}

Result<std::int64_t> blame_resumed_set(Operation& op, const std::string& job, std::int64_t epoch) {
  const auto attempt = TRY(op.session.row(
      "SELECT resumed_set, resumed_step, step FROM attempt WHERE job_id = ? AND epoch = ?", job,
      epoch));
  CHECK(attempt.has_value());
  const std::string set = attempt->opt_text(0).value_or("");
  if (set.empty()) return std::int64_t{0};
  if (attempt->opt_integer(2).value_or(-1) > attempt->opt_integer(1).value_or(-1)) {
    TRY(op.session.exec("UPDATE checkpoint_set SET load_failures = 0 WHERE id = ?", set));
    return std::int64_t{0};
  }
  const auto row =
      TRY(op.session.row("UPDATE checkpoint_set SET load_failures = load_failures + 1 WHERE id = ? "
                         "RETURNING load_failures, state, step",
                         set));
  if (!row || row->integer(0) < kLoadFailuresForSuspicion || row->text(1) != "committed") {
    return std::int64_t{0};
  }
  TRY(op.session.exec("UPDATE checkpoint_set SET state = 'suspect', message = ? WHERE id = ?",
                      "three programs in a row failed on loading it", set));
  TRY(
      op.session.exec("UPDATE job SET num_failures = CASE WHEN num_failures > ? THEN num_failures "
                      "- ? ELSE 0 END WHERE id = ?",
                      kLoadFailuresForSuspicion, kLoadFailuresForSuspicion, job));
  TRY(op.session.exec("DELETE FROM ban WHERE job_id = ?", job));
  TRY_VOID(refresh_committed_step(op, job));
  TRY_VOID(set_event(op, job, "", "checkpoint.suspect", {{"set", set}, {"step", row->integer(2)}}));
  return kLoadFailuresForSuspicion;
}

Result<std::vector<CheckpointSet>> list_sets(db::Session& session, const std::string& job) {
  std::vector<CheckpointSet> out;
  for (const db::Row& row : TRY(session.rows(
           "SELECT id, job_id, epoch, step, unit, prefix, bytes, files, state, pinned, message, "
           "committed_at FROM checkpoint_set WHERE job_id = ? "
           "ORDER BY step DESC, epoch DESC, committed_at DESC LIMIT 10000",
           job))) {
    out.push_back(from_row(row));
  }
  return out;
}

Status pin_set(Operation& op, const std::string& job, const std::string& set, bool pinned) {
  const std::int64_t changed =
      TRY(op.session.exec("UPDATE checkpoint_set SET pinned = ? WHERE id = ? AND job_id = ? AND "
                          "state NOT IN ('retired', 'deleted')",
                          pinned ? 1 : 0, set, job));
  if (changed == 0) {
    return fail(ErrorCode::kNotFound, fmt::format("job {} has no checkpoint set {}", job, set));
  }
  return set_event(op, job, "", pinned ? "checkpoint.pinned" : "checkpoint.unpinned",
                   {{"set", set}});
}

Status retire_sets(Operation& op, const std::vector<std::string>& sets) {
  for (const std::string& set : sets) {
    TRY(op.session.exec(
        "UPDATE checkpoint_set SET state = 'retired' WHERE id = ? AND pinned = 0 AND "
        "state IN ('committed', 'suspect', 'bad')",
        set));
  }
  return {};
}

Result<std::vector<CheckpointSet>> retired_sets(db::Session& session, std::size_t limit) {
  std::vector<CheckpointSet> out;
  for (const db::Row& row : TRY(session.rows(
           "SELECT id, job_id, epoch, step, unit, prefix, bytes, files, state, pinned, message, "
           "committed_at FROM checkpoint_set WHERE state = 'retired' LIMIT ?",
           limit))) {
    out.push_back(from_row(row));
  }
  return out;
}

Status mark_set_deleted(Operation& op, const std::string& set) {
  TRY(op.session.exec("UPDATE checkpoint_set SET state = 'deleted', manifest = '' WHERE id = ?",
                      set));
  return {};
}

Result<std::string> readable_set_prefix(db::Session& session, const std::string& job,
                                        const std::string& set) {
  const auto row =
      TRY(session.row("SELECT prefix FROM checkpoint_set WHERE id = ? AND job_id = ? AND "
                      "state IN ('committed', 'suspect', 'bad')",
                      set, job));
  if (!row) {
    return fail(ErrorCode::kNotFound, fmt::format("job {} has no checkpoint set {}", job, set));
  }
  return row->text(0);
}

}  // namespace loam::jobs
