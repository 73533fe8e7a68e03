// SPDX-License-Identifier: Apache-2.0
#include "meta/summary.h"

#include "base/check.h"

namespace loam::meta {

namespace {

Result<std::vector<Summary::Session>> live_sessions(db::Session& session, std::int64_t lease_ms) {
  std::vector<Summary::Session> out;
  for (const db::Row& row : TRY(session.rows(
           "SELECT s.node, s.epoch, n.change - s.position, s.expires_lc - ?, (SELECT count(*) FROM "
           "object o WHERE o.state = 1 AND o.node = s.node) FROM node_session s, namespace n WHERE "
           "s.ended = 0 AND s.expires_lc > ? ORDER BY s.node",
           lease_ms, lease_ms))) {
    out.push_back({row.text(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4)});
  }
  return out;
}

}  // namespace

Result<Summary> summarize(db::Session& session, std::int64_t lease_ms) {
  Summary out{.sessions = TRY(live_sessions(session, lease_ms))};
  const auto row = TRY(session.row(
      "SELECT (SELECT count(*) FROM usage_delta), conflicts, (SELECT count(*) FROM loss), "
      "(SELECT count(*) FROM orphan) FROM namespace WHERE id = 1"));
  CHECK(row.has_value());
  out.unfolded = row->integer(0);
  out.conflicts = row->integer(1);
  out.losses = row->integer(2);
  out.orphans = row->integer(3);
  for (const db::Row& count :
       TRY(session.rows("SELECT state, count(*) FROM object GROUP BY state"))) {
    out.objects.at(static_cast<std::size_t>(count.integer(0))) = count.integer(1);
  }
  return out;
}

Result<bool> has_unfolded(db::Session& session) {
  return TRY(session.row("SELECT 1 FROM usage_delta LIMIT 1")).has_value();
}

}  // namespace loam::meta
