// SPDX-License-Identifier: Apache-2.0
#include "jobs/event.h"

#include "base/check.h"
#include "base/clock.h"

namespace loam::jobs {

Json Event::to_json() const {
  Json out{{"seq", seq}, {"at", format_utc(at)}, {"type", type}, {"data", data}};
  if (!job.empty()) out["job"] = job;
  if (!node.empty()) out["node"] = node;
  return out;
}

Result<std::int64_t> next_count(db::Session& session, std::string_view counter) {
  const auto row = TRY(
      session.row("UPDATE counter SET value = value + 1 WHERE name = ? RETURNING value", counter));
  CHECK(row.has_value());
  return row->integer(0);
}

Status append_event(db::Session& session, const Event& event) {
  TRY_VOID(session.exec_later("UPDATE counter SET value = value + 1 WHERE name = 'event'"));
  return session.exec_later(
      "INSERT INTO event (seq, at, owner, job_id, node_id, type, data) "
      "SELECT value, ?, ?, ?, ?, ?, ? FROM counter WHERE name = 'event'",
      event.at, event.owner, event.job, event.node, event.type, dump_json(event.data));
}

Result<std::vector<Event>> list_events(db::Session& session, const EventFilter& filter) {
  static constexpr std::string_view kByJob =
      "SELECT seq, at, owner, job_id, node_id, type, data FROM event "
      "WHERE job_id = ? AND seq > ? ORDER BY seq LIMIT ?";
  static constexpr std::string_view kAll =
      "SELECT seq, at, owner, job_id, node_id, type, data FROM event "
      "WHERE seq > ? AND (? = '' OR owner = ? OR owner = '') ORDER BY seq LIMIT ?";
  const std::string owner = filter.owner.value_or("");
  const auto rows = filter.job ? TRY(session.rows(kByJob, *filter.job, filter.after, filter.limit))
                               : TRY(session.rows(kAll, filter.after, owner, owner, filter.limit));
  std::vector<Event> out;
  out.reserve(rows.size());
  for (const db::Row& row : rows) {
    out.push_back({row.integer(0), row.integer(1), row.text(2), row.text(3), row.text(4),
                   row.text(5), TRY(parse_json(row.text(6)))});
  }
  return out;
}

Result<std::int64_t> last_event(db::Session& session) {
  const auto row = TRY(session.row("SELECT value FROM counter WHERE name = 'event'"));
  CHECK(row.has_value());
  return row->integer(0);
}

}  // namespace loam::jobs
