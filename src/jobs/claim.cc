// SPDX-License-Identifier: Apache-2.0
#include "jobs/claim.h"

#include <fmt/format.h>

#include <tuple>

#include "base/check.h"
#include "base/digest.h"
#include "jobs/attempt.h"
#include "jobs/event.h"
#include "jobs/queue.h"
#include "jobs/requirement.h"

namespace loam::jobs {

namespace {

struct Slot {
  SlotOffer offer;
  // The job that an earlier try of this very claim was given, whose answer was lost.
  std::optional<std::string> given;
};

Result<Slot> usable_slot(Operation& op, const ClaimRequest& request) {
  const auto rows = TRY(op.session.rows(
      "SELECT n.state, n.slots, n.pool, n.gpu_count, n.gpu_class, n.vram_gb, n.price_uusd_hour, "
      "l.job_id, l.token_hash, l.claim FROM node n LEFT JOIN lease l ON l.node_id = n.id "
      "AND l.slot = ? AND (l.state = 'held' OR l.claim = ?) WHERE n.id = ?",
      request.slot, request.claim, request.node));
  if (rows.empty()) return fail(ErrorCode::kNotFound, fmt::format("no node {}", request.node));
  for (const db::Row& row : rows) {
    if (row.is_null(7) || row.text(9) != request.claim) continue;
    // Only another server key than the one the claim was made under gives another token.
    if (row.text(8) != sha256_hex(request.token)) {
      return fail(ErrorCode::kConflict, "the claim was made under another server key");
    }
    return Slot{.given = row.text(7)};
  }
  const db::Row& node = rows.front();
  if (node.text(0) != "active" && node.text(0) != "lost") {
    return fail(ErrorCode::kConflict,
                fmt::format("node {} is {} and takes no jobs", request.node, node.text(0)));
  }
  const std::int64_t slots = node.integer(1);
  if (request.slot < 0 || request.slot >= slots) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("node {} has no slot {}", request.node, request.slot));
  }
  if (!node.is_null(7)) {
    return fail(ErrorCode::kConflict, fmt::format("slot {} of node {} still holds {}", request.slot,
                                                  request.node, node.text(7)));
  }
  return Slot{.offer = SlotOffer::of(node.text(2), node.integer(3), slots, node.text(4),
                                     node.real(5), node.integer(6))};
}

struct Candidate {
  std::int64_t queue_class = 0;
  std::int64_t priority = 0;
  std::int64_t owner_running = 0;
  std::int64_t seq = 0;
  std::string job;

  auto rank() const { return std::tuple(queue_class, -priority, owner_running, seq); }
};

// The first job of each lane that the node can serve; the best of them.
Result<std::optional<Candidate>> best_candidate(Operation& op, const SlotOffer& slot,
                                                const std::string& node_id) {
  const auto lanes = TRY(
      op.session.rows("SELECT l.shape, l.owner, s.requirement, coalesce(o.running, 0) FROM lane l "
                      "JOIN shape s ON s.id = l.shape LEFT JOIN owner_load o ON o.owner = l.owner "
                      "WHERE l.waiting > 0"));
  std::optional<Candidate> best;
  for (const db::Row& lane : lanes) {
    if (!TRY(meets(slot, lane.text(2)))) continue;
    const auto first = TRY(op.session.row(
        "SELECT class, priority, seq, job_id FROM queue q WHERE shape = ? AND owner = ? AND "
        "ready = 1 AND NOT EXISTS (SELECT 1 FROM ban b WHERE b.job_id = q.job_id AND "
        "b.node_id = ?) ORDER BY class, priority DESC, seq LIMIT 1",
        lane.integer(0), lane.text(1), node_id));
    if (!first) continue;
    Candidate candidate{first->integer(0), first->integer(1), lane.integer(3), first->integer(2),
                        first->text(3)};
    if (!best || candidate.rank() < best->rank()) best = std::move(candidate);
  }
  return best;
}

Result<std::vector<ResumeCandidate>> resume_candidates(Operation& op, const std::string& job) {
  // Suspect sets come last: they are tried before a run would start from zero. Of one step the
  // later attempt's goes first; wall clocks, which servers may not agree on, decide last.
  const auto rows = TRY(
      op.session.rows("SELECT id, step, manifest, prefix FROM checkpoint_set WHERE job_id = ? AND "
                      "state IN ('committed', 'suspect') "
                      "ORDER BY state, step DESC, epoch DESC, committed_at DESC LIMIT 4",
                      job));
  std::vector<ResumeCandidate> out;
  for (const db::Row& row : rows) {
    out.push_back({row.text(0), row.integer(1), row.text(2), row.text(3)});
  }
  return out;
}

struct JobFacts {
  std::string owner;
  std::string spec;
  std::int64_t epoch = 0;
  std::optional<std::int64_t> lease;  // the epoch of the lease that there is
  bool has_secrets = false;
};

Result<JobFacts> facts_of(Operation& op, const std::string& job) {
  const auto row =
      TRY(op.session.row("SELECT j.owner, j.spec, j.epoch, l.epoch, "
                         "(SELECT count(*) FROM secret s WHERE s.job_id = j.id) FROM job j "
                         "LEFT JOIN lease l ON l.job_id = j.id WHERE j.id = ?",
                         job));
  CHECK(row.has_value());
  return JobFacts{row->text(0), row->text(1), row->integer(2), row->opt_integer(3),
                  row->integer(4) > 0};
}

// The job for its attempt `epoch`, which begins now or has begun.
Result<Claimed> describe(Operation& op, const std::string& job, const JobFacts& facts,
                         std::int64_t epoch) {
  Claimed out;
  out.job = job;
  out.epoch = epoch;
  out.owner = facts.owner;
  out.spec = facts.spec;
  out.parsed = TRY(load_job_spec(out.spec));
  if (facts.has_secrets) {
    for (const db::Row& secret :
         TRY(op.session.rows("SELECT name, sealed FROM secret WHERE job_id = ?", job))) {
      out.sealed_secrets[secret.text(0)] = secret.text(1);
    }
  }
  // Before its first attempt a job has neither sets nor figures.
  if (facts.epoch > 0) {
    out.candidates = TRY(resume_candidates(op, job));
    out.figures = TRY(save_figures(op.session, job));
  }
  return out;
}

// The job's earlier attempt, whose lease expired without being renewed, is lost now.
Status end_expired(Operation& op, const std::string& job, std::int64_t epoch) {
  TRY_VOID(end_attempt(op, job, epoch,
                       {.state = "lost", .cause = "node_lost", .message = "the lease expired"}));
  return op.session.exec_later(
      "UPDATE job SET num_interruptions = num_interruptions + 1 WHERE id = ?", job);
}

Status hand_over(Operation& op, const ClaimRequest& request, const std::string& job,
                 std::int64_t epoch, const JobSpec& spec, const std::string& owner) {
  const std::string hash = sha256_hex(request.token);
  const std::string prefix = fmt::format("jobs/{}/{}-{}/", job, epoch, hash.substr(0, 8));
  TRY_VOID(op.session.exec_later(
      "INSERT INTO lease (job_id, epoch, token_hash, node_id, slot, claim, state, expires_lc, "
      "ttl_ms, extended) VALUES (?, ?, ?, ?, ?, ?, 'held', ?, ?, 0)",
      job, epoch, hash, request.node, request.slot, request.claim, op.lease_ms + spec.lease_ttl_ms,
      spec.lease_ttl_ms));
  TRY_VOID(op.session.exec_later(
      "INSERT INTO attempt (job_id, epoch, node_id, slot, prefix, state, cause, message, "
      "started_at, started_lc, contact_lc, covered_us, token_hash, swept) "
      "VALUES (?, ?, ?, ?, ?, 'running', '', '', ?, ?, ?, 0, ?, 0)",
      job, epoch, request.node, request.slot, prefix, op.wall_ms, op.lease_ms, op.lease_ms, hash));
  TRY_VOID(op.session.exec_later(
      "UPDATE job SET epoch = ?, status = 'running', phase = 'staging', reason = '', "
      "message = '', started_at = coalesce(started_at, ?) WHERE id = ?",
      epoch, op.wall_ms, job));
  TRY_VOID(
      op.session.exec_later("INSERT INTO owner_load (owner, running) VALUES (?, 1) "
                            "ON CONFLICT (owner) DO UPDATE SET running = owner_load.running + 1",
                            owner));
  return append_event(op.session, {.at = op.wall_ms,
                                   .owner = owner,
                                   .job = job,
                                   .node = request.node,
                                   .type = "job.claimed",
                                   .data = {{"epoch", epoch}, {"slot", request.slot}}});
}

}  // namespace

Result<std::optional<Claimed>> claim_job(Operation& op, const ClaimRequest& request) {
  const Slot slot = TRY(usable_slot(op, request));
  if (slot.given) {
    const JobFacts facts = TRY(facts_of(op, *slot.given));
    return TRY(describe(op, *slot.given, facts, facts.epoch));
  }
  const auto best = TRY(best_candidate(op, slot.offer, request.node));
  if (!best) return std::optional<Claimed>();
  TRY_VOID(dequeue(op, best->job));
  const JobFacts facts = TRY(facts_of(op, best->job));
  // First, for what is lost now counts in the advice that the next attempt gets.
  if (facts.lease) TRY_VOID(end_expired(op, best->job, *facts.lease));
  const Claimed claimed = TRY(describe(op, best->job, facts, facts.epoch + 1));
  TRY_VOID(hand_over(op, request, claimed.job, claimed.epoch, claimed.parsed, claimed.owner));
  return claimed;
}

}  // namespace loam::jobs
