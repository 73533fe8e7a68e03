// SPDX-License-Identifier: Apache-2.0
#include "jobs/expire.h"

#include <map>
#include <string>
#include <vector>

#include "jobs/event.h"
#include "jobs/queue.h"

namespace loam::jobs {

namespace {

struct Due {
  std::string job;
  std::string node;
  std::string pool;
  std::string owner;
  std::int64_t epoch = 0;
  bool extended = false;
};

// A healthy lease always has more than half of its TTL left, since that is at least two heartbeats;
// so those below it, and those already given more time, are the ones in trouble, due in this round
// or not.
Result<bool> is_mass_expiry(Operation& op, const std::string& pool) {
  const auto row = TRY(op.session.row(
      "SELECT count(*), sum(CASE WHEN l.extended = 1 OR l.expires_lc < ? + l.ttl_ms / 2 THEN 1 "
      "ELSE 0 END), count(DISTINCT CASE WHEN l.extended = 1 OR l.expires_lc < ? + l.ttl_ms / 2 "
      "THEN l.node_id END) FROM lease l JOIN node n ON n.id = l.node_id WHERE l.state = 'held' AND "
      "n.pool = ?",
      op.lease_ms, op.lease_ms, pool));
  if (!row || row->integer(0) == 0) return false;
  const std::int64_t troubled = row->integer(1);
  return troubled >= kMassLeases && row->integer(2) >= kMassNodes && troubled * 2 > row->integer(0);
}

Status expire_one(Operation& op, const Due& due) {
  TRY(op.session.exec("UPDATE lease SET state = 'expired' WHERE job_id = ?", due.job));
  TRY(op.session.exec("UPDATE job SET phase = 'recovering' WHERE id = ?", due.job));
  TRY_VOID(enqueue_job(op, due.job, kClassInterrupted, 0));
  return append_event(op.session, {.at = op.wall_ms,
                                   .owner = due.owner,
                                   .job = due.job,
                                   .node = due.node,
                                   .type = "lease.expired",
                                   .data = {{"epoch", due.epoch}}});
}

}  // namespace

Result<std::int64_t> expire_leases(Operation& op) {
  const auto rows = TRY(op.session.rows(
      "SELECT l.job_id, l.node_id, n.pool, j.owner, l.epoch, l.extended FROM lease l "
      "JOIN node n ON n.id = l.node_id JOIN job j ON j.id = l.job_id "
      "WHERE l.state = 'held' AND l.expires_lc < ? ORDER BY l.expires_lc LIMIT 20000",
      op.lease_ms));
  std::map<std::string, std::vector<Due>> by_pool;
  for (const db::Row& row : rows) {
    by_pool[row.text(2)].push_back(
        {row.text(0), row.text(1), row.text(2), row.text(3), row.integer(4), row.boolean(5)});
  }
  std::int64_t expired = 0;
  for (const auto& [pool, due] : by_pool) {
    const bool mass = TRY(is_mass_expiry(op, pool));
    for (const Due& lease : due) {
      if (mass && !lease.extended) {
        TRY(op.session.exec(
            "UPDATE lease SET expires_lc = expires_lc + ttl_ms, extended = 1 WHERE job_id = ?",
            lease.job));
        continue;
      }
      TRY_VOID(expire_one(op, lease));
      ++expired;
    }
  }
  return expired;
}

}  // namespace loam::jobs
