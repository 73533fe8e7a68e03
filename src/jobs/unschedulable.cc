// SPDX-License-Identifier: Apache-2.0
#include "jobs/unschedulable.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "jobs/event.h"
#include "jobs/requirement.h"

namespace loam::jobs {

namespace {

constexpr std::size_t kMostPerCall = 500;

struct LiveOffer {
  SlotOffer slot;
  std::int64_t nodes = 0;  // that offer the same
};
using LiveOffers = std::vector<LiveOffer>;

Result<LiveOffers> live_offers(db::Session& session) {
  LiveOffers out;
  for (const db::Row& row : TRY(session.rows(
           "SELECT pool, gpu_count, slots, gpu_class, vram_gb, price_uusd_hour, count(*) FROM node "
           "WHERE state = 'active' GROUP BY pool, gpu_count, slots, gpu_class, vram_gb, "
           "price_uusd_hour"))) {
    out.push_back({SlotOffer::of(row.text(0), row.integer(1), row.integer(2), row.text(3),
                                 row.real(4), row.integer(5)),
                   row.integer(6)});
  }
  return out;
}

Result<std::int64_t> nodes_that_meet(const LiveOffers& offers, const std::string& requirement) {
  std::int64_t out = 0;
  for (const LiveOffer& offer : offers) {
    if (TRY(meets(offer.slot, requirement))) out += offer.nodes;
  }
  return out;
}

Status set_phase(Operation& op, const db::Row& job, const std::string& phase,
                 const std::string& message) {
  const std::string reason = phase == "queued" ? "" : phase;
  TRY(op.session.exec("UPDATE job SET phase = ?, reason = ?, message = ? WHERE id = ?", phase,
                      reason, message, job.text(0)));
  return append_event(op.session, {.at = op.wall_ms,
                                   .owner = job.text(1),
                                   .job = job.text(0),
                                   .type = "job." + phase,
                                   .data = {{"message", message}}});
}

// Jobs of a shape that no live node meets, and those that some node does again. Jobs with bans are
// judged one by one, below.
Result<std::int64_t> judge_shape(Operation& op, std::int64_t shape, bool can_run,
                                 const std::string& message) {
  const auto jobs = TRY(op.session.rows(
      can_run ? "SELECT id, owner FROM job j WHERE status = 'pending' AND shape = ? AND phase = ? "
                "AND NOT EXISTS (SELECT 1 FROM ban b WHERE b.job_id = j.id) LIMIT ?"
              : "SELECT id, owner FROM job WHERE status = 'pending' AND shape = ? AND phase = ? "
                "LIMIT ?",
      shape, can_run ? "unschedulable" : "queued", kMostPerCall));
  for (const db::Row& job : jobs)
    TRY_VOID(set_phase(op, job, can_run ? "queued" : "unschedulable", message));
  return static_cast<std::int64_t>(jobs.size());
}

// A job is banned only from nodes that it ran on, so each of those met its requirement.
Result<std::int64_t> judge_banned(Operation& op, std::int64_t shape, std::int64_t able) {
  const auto jobs = TRY(op.session.rows(
      "SELECT j.id, j.owner, j.phase, count(n.id) FROM job j JOIN ban b ON b.job_id = j.id "
      "LEFT JOIN node n ON n.id = b.node_id AND n.state = 'active' WHERE j.status = 'pending' AND "
      "j.shape = ? AND j.phase IN ('queued', 'unschedulable') GROUP BY j.id, j.owner, j.phase "
      "LIMIT ?",
      shape, kMostPerCall));
  std::int64_t changed = 0;
  for (const db::Row& job : jobs) {
    const bool can_run = job.integer(3) < able;
    if (can_run == (job.text(2) == "queued")) continue;
    TRY_VOID(set_phase(op, job, can_run ? "queued" : "unschedulable",
                       can_run ? ""
                               : fmt::format("it failed on every live node that could run it ({}); "
                                             "add a node, or `loam retry` it to forget that",
                                             able)));
    ++changed;
  }
  return changed;
}

}  // namespace

Result<std::int64_t> mark_unschedulable(Operation& op) {
  const LiveOffers offers = TRY(live_offers(op.session));
  const auto shapes =
      TRY(op.session.rows("SELECT DISTINCT s.id, s.requirement FROM lane l JOIN shape s ON s.id = "
                          "l.shape WHERE l.waiting > 0"));
  std::int64_t changed = 0;
  for (const db::Row& shape : shapes) {
    const std::int64_t able = TRY(nodes_that_meet(offers, shape.text(1)));
    if (able > 0) {
      changed += TRY(judge_shape(op, shape.integer(0), true, ""));
      changed += TRY(judge_banned(op, shape.integer(0), able));
    } else if (offers.empty()) {
      changed += TRY(judge_shape(op, shape.integer(0), true, ""));
    } else {
      const std::string need = TRY(requirement_text(shape.text(1)));
      changed += TRY(judge_shape(op, shape.integer(0), false,
                                 fmt::format("no live node offers what it asks for: {}", need)));
    }
  }
  return changed;
}

}  // namespace loam::jobs
