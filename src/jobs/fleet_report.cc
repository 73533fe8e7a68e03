// SPDX-License-Identifier: Apache-2.0
#include "jobs/fleet_report.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "jobs/report_classes.h"

namespace loam::jobs {

namespace {

struct Group {
  ClassTotals classes;
  GpuUse gpus;
  std::int64_t steps = 0;
  std::int64_t interruptions = 0;
};

using Groups = std::map<std::string, Group>;

struct Fleet {
  Group all;
  Groups pools;
  Groups gpu_classes;
  Groups owners;
};

struct PaidNode {
  std::string id;
  std::string pool;
  std::string gpu_class;
  std::int64_t slots = 0;
  std::int64_t contact_us = 0;
  std::int64_t paid_us = 0;
  double uusd_per_hour = 0;  // of one slot
};

Json group_json(const std::string& name, const Group& group) {
  const double usd = group.classes.usd();
  return {{"name", name},
          {"seconds_total", static_cast<double>(group.classes.total_us()) / 1e6},
          {"seconds_by_class", group.classes.seconds()},
          {"usd", usd},
          {"steps", group.steps},
          {"usd_per_step", group.steps > 0 ? Json(usd / static_cast<double>(group.steps)) : Json()},
          {"interruptions", group.interruptions},
          {"interruption_usd", group.classes.interruption_usd()},
          {"gpu_utilisation", group.gpus.share()}};
}

Json groups_json(const Groups& groups) {
  Json out = Json::array();
  for (const auto& [name, group] : groups)
    out.push_back(group_json(name, group));
  return out;
}

// The groups that a node's time belongs to, whoever used it.
template <typename F>
void for_node(Fleet& fleet, const PaidNode& node, F&& each) {
  each(fleet.all);
  each(fleet.pools[node.pool]);
  each(fleet.gpu_classes[node.gpu_class.empty() ? "none" : node.gpu_class]);
}

// One node's slots: every segment, the time after its last contact, and what nothing explains.
Status add_time(db::Session& session, const PaidNode& node, Fleet& fleet) {
  std::int64_t explained = 0;
  for (const db::Row& row : TRY(session.rows(
           "SELECT s.class, coalesce(j.owner, ''), CAST(sum(s.end_us - s.start_us) AS BIGINT), "
           "CAST(sum(s.data_wait_us) AS BIGINT), CAST(sum(s.checkpoint_us) AS BIGINT), "
           "CAST(coalesce(sum(s.gpu_busy_us), 0) AS BIGINT), CAST(sum(CASE WHEN s.gpu_busy_us IS "
           "NULL THEN 0 ELSE s.end_us - s.start_us END) AS BIGINT) FROM segment s LEFT JOIN job j "
           "ON j.id = s.job_id WHERE s.node_id = ? GROUP BY s.class, coalesce(j.owner, '')",
           node.id))) {
    const auto add = [&](Group& group) {
      group.classes.add_segment(row.text(0), row.integer(2), row.integer(3), row.integer(4),
                                node.uusd_per_hour);
      group.gpus.add(row.integer(5), row.integer(6));
    };
    for_node(fleet, node, add);
    if (!row.text(1).empty()) add(fleet.owners[row.text(1)]);
    explained += row.integer(2);
  }
  const std::int64_t dead = (node.paid_us - node.contact_us) * node.slots;
  const std::int64_t left = node.paid_us * node.slots - explained - dead;
  for_node(fleet, node, [&](Group& group) {
    group.classes.add("dead", dead, node.uusd_per_hour);
    group.classes.add("unaccounted", left, node.uusd_per_hour);
  });
  return {};
}

// What the node's attempts left to their jobs: up to the end if they succeeded, else up to their
// newest set.
Status add_steps(db::Session& session, const PaidNode& node, Fleet& fleet) {
  for (const db::Row& row : TRY(session.rows(
           "SELECT a.state, j.owner, a.step, a.resumed_step, (SELECT max(s.step) FROM "
           "checkpoint_set s WHERE s.job_id = a.job_id AND s.epoch = a.epoch AND s.state <> 'bad') "
           "FROM attempt a JOIN job j ON j.id = a.job_id WHERE a.node_id = ?",
           node.id))) {
    const bool succeeded = row.text(0) == "succeeded";
    const bool interrupted = row.text(0) == "lost" || row.text(0) == "released";
    const std::int64_t from = row.opt_integer(3).value_or(0);
    const std::int64_t to = row.opt_integer(succeeded ? 2 : 4).value_or(from);
    const auto add = [&](Group& group) {
      group.steps += std::max<std::int64_t>(to - from, 0);
      group.interruptions += interrupted ? 1 : 0;
    };
    for_node(fleet, node, add);
    add(fleet.owners[row.text(1)]);
  }
  return {};
}

}  // namespace

Result<Json> fleet_report(db::Session& session) {
  Fleet fleet;
  std::int64_t nodes = 0;
  for (const db::Row& row : TRY(session.rows(
           "SELECT id, pool, gpu_class, slots, contact_us, coalesce(paid_us, contact_us), "
           "price_uusd_hour FROM node"))) {
    ++nodes;
    const std::int64_t slots = row.integer(3);
    const PaidNode node{row.text(0),
                        row.text(1),
                        row.text(2),
                        slots,
                        row.integer(4),
                        row.integer(5),
                        static_cast<double>(row.integer(6)) / static_cast<double>(slots)};
    TRY_VOID(add_time(session, node, fleet));
    TRY_VOID(add_steps(session, node, fleet));
  }
  Json jobs = Json::object();
  for (const db::Row& row : TRY(session.rows("SELECT status, count(*) FROM job GROUP BY status")))
    jobs[row.text(0)] = row.integer(1);
  Json out = group_json("all", fleet.all);
  out["nodes"] = nodes;
  out["jobs"] = std::move(jobs);
  out["pools"] = groups_json(fleet.pools);
  out["gpu_classes"] = groups_json(fleet.gpu_classes);
  out["owners"] = groups_json(fleet.owners);
  return out;
}

}  // namespace loam::jobs
