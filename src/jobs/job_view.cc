// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_view.h"

#include <fmt/format.h>

#include "base/clock.h"

namespace loam::jobs {

namespace {

constexpr std::string_view kSelectOne =
    "SELECT j.id, j.seq, j.owner, j.name, j.pool, j.status, j.phase, j.reason, j.message, "
    "j.priority, j.created_at, j.started_at, j.finished_at, j.epoch, j.num_failures, "
    "j.num_platform_failures, j.num_interruptions, j.max_failures, j.step, j.committed_step, "
    "n.id, n.name, j.spec FROM job j LEFT JOIN lease l ON l.job_id = j.id AND l.state = 'held' "
    "LEFT JOIN node n ON n.id = l.node_id WHERE j.id = ?";
constexpr std::string_view kSelectPage =
    "SELECT j.id, j.seq, j.owner, j.name, j.pool, j.status, j.phase, j.reason, j.message, "
    "j.priority, j.created_at, j.started_at, j.finished_at, j.epoch, j.num_failures, "
    "j.num_platform_failures, j.num_interruptions, j.max_failures, j.step, j.committed_step, "
    "n.id, n.name FROM job j LEFT JOIN lease l ON l.job_id = j.id AND l.state = 'held' "
    "LEFT JOIN node n ON n.id = l.node_id "
    "WHERE j.seq < ? AND (? = '' OR j.owner = ?) AND (? = '' OR j.status = ?) AND "
    "(? = '' OR j.name = ?) AND (? = '' OR j.pool = ?) ORDER BY j.seq DESC LIMIT ?";

void put_time(Json& out, const char* key, const std::optional<std::int64_t>& at) {
  if (at) out[key] = format_utc(*at);
}

Json view(const db::Row& row) {
  Json out{{"id", row.text(0)},
           {"owner", row.text(2)},
           {"name", row.text(3)},
           {"pool", row.text(4)},
           {"status", row.text(5)},
           {"phase", row.text(6)},
           {"priority", row.integer(9)},
           {"created", format_utc(row.integer(10))},
           {"epoch", row.integer(13)},
           {"num_failures", row.integer(14)},
           {"num_platform_failures", row.integer(15)},
           {"num_interruptions", row.integer(16)},
           {"max_failures", row.integer(17)},
           {"step", nullptr},
           {"recovery_step", nullptr}};
  if (!row.text(7).empty()) out["reason"] = row.text(7);
  if (!row.text(8).empty()) out["message"] = row.text(8);
  put_time(out, "started", row.opt_integer(11));
  put_time(out, "finished", row.opt_integer(12));
  if (const auto step = row.opt_integer(18)) out["step"] = *step;
  if (const auto step = row.opt_integer(19)) out["recovery_step"] = *step;
  if (const auto node = row.opt_text(20)) {
    out["node"] = *node;
    out["node_name"] = row.text(21);
  }
  return out;
}

}  // namespace

Result<Json> job_view(db::Session& session, const std::string& job,
                      const std::optional<std::string>& owner, bool with_spec) {
  const auto row = TRY(session.row(kSelectOne, job));
  if (!row || (owner && row->text(2) != *owner)) {
    return fail(ErrorCode::kNotFound, fmt::format("no job {}", job.substr(0, 80)));
  }
  Json out = view(*row);
  if (with_spec) out["spec"] = TRY(parse_json(row->text(22)));
  return out;
}

Result<JobPage> list_jobs(db::Session& session, const JobFilter& filter) {
  const std::string owner = filter.owner.value_or("");
  const std::string status = filter.status.value_or("");
  const std::string name = filter.name.value_or("");
  const std::string pool = filter.pool.value_or("");
  const auto rows = TRY(session.rows(kSelectPage, filter.before_seq.value_or(INT64_MAX), owner,
                                     owner, status, status, name, name, pool, pool, filter.limit));
  JobPage page;
  for (const db::Row& row : rows)
    page.jobs.push_back(view(row));
  if (rows.size() == filter.limit) page.next = rows.back().integer(1);
  return page;
}

Result<std::vector<Json>> attempt_views(db::Session& session, const std::string& job) {
  std::vector<Json> out;
  for (const db::Row& row : TRY(session.rows(
           "SELECT a.epoch, a.node_id, n.name, a.slot, a.state, a.cause, a.exit_code, a.signal, "
           "a.message, a.started_at, a.ended_at, a.resumed_step, a.resumed_set, a.step "
           "FROM attempt a JOIN node n ON n.id = a.node_id WHERE a.job_id = ? ORDER BY a.epoch "
           "LIMIT 10000",
           job))) {
    Json attempt{{"epoch", row.integer(0)},  {"node", row.text(1)},
                 {"node_name", row.text(2)}, {"slot", row.integer(3)},
                 {"state", row.text(4)},     {"started", format_utc(row.integer(9))},
                 {"resumed_step", nullptr},  {"step", nullptr}};
    if (!row.text(5).empty()) attempt["cause"] = row.text(5);
    if (const auto code = row.opt_integer(6)) attempt["exit_code"] = *code;
    if (const auto signal = row.opt_integer(7)) attempt["signal"] = *signal;
    if (!row.text(8).empty()) attempt["message"] = row.text(8);
    put_time(attempt, "ended", row.opt_integer(10));
    if (const auto step = row.opt_integer(11)) attempt["resumed_step"] = *step;
    if (const auto set = row.opt_text(12); set && !set->empty()) attempt["resumed_set"] = *set;
    if (const auto step = row.opt_integer(13)) attempt["step"] = *step;
    out.push_back(std::move(attempt));
  }
  return out;
}

}  // namespace loam::jobs
