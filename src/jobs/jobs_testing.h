// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "db/transactions_testing.h"
#include "jobs/cancel.h"
#include "jobs/checkpoint_set.h"
#include "jobs/claim.h"
#include "jobs/expire.h"
#include "jobs/finish.h"
#include "jobs/job_view.h"
#include "jobs/node.h"
#include "jobs/queue.h"
#include "jobs/renew.h"
#include "jobs/schema.h"
#include "jobs/submit.h"

namespace loam::jobs::testing {

using db::testing::code_of;
using db::testing::must;

// A lease that a test node holds.
struct Held {
  Claimed claimed;
  LeaseRef ref;
  std::int64_t slot = 0;
};

// A database with the tables of jobs/, under a clock that only the test moves, and a server whose
// ticker runs while time passes. On SQLite or PostgreSQL, as db/database_testing.h says.
class World {
 public:
  explicit World(std::uint64_t seed = 1) : random(seed), advancer_(clock) {
    // The warnings that tests provoke would bury their results.
    [[maybe_unused]] static const bool quiet = [] {
      log_setup({.level = LogLevel::kError});
      return true;
    }();
    must(migrate_schema(*db_));
    tick();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  db::Database& db() { return *db_; }

  // Runs an operation in a write transaction of its own.
  template <typename F>
  auto write(F operation) -> std::invoke_result_t<F, Operation&> {
    using Out = std::invoke_result_t<F, Operation&>;
    const auto run = [&](db::Session& session) -> Out {
      Operation op = TRY(Operation::begin(session, clock, random));
      return operation(op);
    };
    return calls_.write(*db_, run);
  }
  template <typename F>
  auto read(F operation) -> std::invoke_result_t<F, db::Session&> {
    return calls_.read(*db_, std::move(operation));
  }
  // What `calls` writes shares one commit, an operation being undone alone as ever.
  void together(const std::function<void()>& calls) { calls_.together(*db_, calls); }
  template <typename... Args>
  std::vector<db::Row> rows(std::string_view sql, const Args&... args) {
    return must(read([&](db::Session& s) { return s.rows(sql, args...); }));
  }
  template <typename... Args>
  std::int64_t number(std::string_view sql, const Args&... args) {
    const auto found = rows(sql, args...);
    CHECK(found.size() == 1);
    return found[0].integer(0);
  }
  template <typename... Args>
  std::string text(std::string_view sql, const Args&... args) {
    const auto found = rows(sql, args...);
    CHECK(found.size() == 1);
    return found[0].text(0);
  }
  template <typename... Args>
  void exec(std::string_view sql, const Args&... args) {
    must(write([&](Operation& op) -> Status {
      TRY(op.session.exec(sql, args...));
      return {};
    }));
  }

  // One round of the server's ticker.
  void tick() {
    must(write([this](Operation& op) { return round(op); }));
  }
  // Lets time pass while the server runs. One transaction for all rounds, since it makes no
  // difference to them and saves most of the tests' time.
  void pass(std::int64_t ms) {
    must(write([&](Operation& op) -> Status {
      for (std::int64_t left = ms; left > 0; left -= kMaxStepMs) {
        clock.advance(std::chrono::milliseconds(std::min(left, kMaxStepMs)));
        TRY_VOID(round(op));
      }
      return {};
    }));
  }
  std::int64_t lease_ms() { return number("SELECT ms FROM lease_clock"); }
  // A node's own timeline is this clock in these tests.
  std::int64_t now_us() const { return clock.boot_us(); }

  std::string enrol(NodeEnrolment node = {}) {
    if (node.name.empty()) node.name = "node" + std::to_string(++nodes_);
    if (node.pool.empty()) node.pool = "pool";
    if (node.ttl_ms == 0) node.ttl_ms = 100'000'000;
    return must(write([&](Operation& op) { return enrol_node(op, node); }));
  }

  // Submits {"command": "true"} with `more` merged over it.
  std::string submit(const std::string& owner = "ann", const Json& more = Json::object()) {
    return submit_all({spec(more)}, owner).at(0);
  }
  static JobSpec spec(const Json& more = Json::object()) {
    Json file{{"command", "true"}};
    file.merge_patch(more);
    return must(parse_job_spec(file));
  }
  std::vector<std::string> submit_all(const std::vector<JobSpec>& specs, const std::string& owner) {
    std::vector<Submission> submissions;
    for (const JobSpec& one : specs)
      submissions.push_back({owner, one, {}});
    return must(write([&](Operation& op) { return submit_jobs(op, submissions); }));
  }

  Result<std::optional<Held>> try_claim(const std::string& node, std::int64_t slot = 0) {
    const std::string claim = random_token(random, 8);
    return try_claim({node, slot, claim, random_token(random, 16)});
  }
  Result<std::optional<Held>> try_claim(const ClaimRequest& request) {
    auto claimed = TRY(write([&](Operation& op) { return claim_job(op, request); }));
    if (!claimed) return std::optional<Held>();
    LeaseRef ref{claimed->job, claimed->epoch, request.token, request.node};
    return std::optional<Held>(Held{std::move(*claimed), std::move(ref), request.slot});
  }
  Held claim(const std::string& node, std::int64_t slot = 0) {
    auto held = must(try_claim(node, slot));
    if (!held) throw std::runtime_error("there was nothing to claim for " + node);
    return std::move(*held);
  }
  // The job that a claim yields, or nothing.
  std::string claimed_job(const std::string& node, std::int64_t slot = 0) {
    const auto held = must(try_claim(node, slot));
    return held ? held->claimed.job : "";
  }

  Result<Renewed> renew(const Held& held, Renewal renewal = {}) {
    renewal.now_us = now_us();
    return write([&](Operation& op) { return renew_lease(op, held.ref, renewal); });
  }
  FinalReport report() const { return {.now_us = now_us()}; }
  Status fail(const Held& held, const std::string& cause = "program") {
    return write([&](Operation& op) { return fail_attempt(op, held.ref, cause, report()); });
  }
  Status release(const Held& held) {
    return write([&](Operation& op) { return release_attempt(op, held.ref, "drained", report()); });
  }
  Status complete(const Held& held, const std::vector<OutputFile>& outputs = {}) {
    return write([&](Operation& op) { return complete_attempt(op, held.ref, report(), outputs); });
  }
  Result<std::optional<std::string>> cancel(const std::string& job) {
    return write([&](Operation& op) { return cancel_job(op, job); });
  }
  Status retry(const std::string& job) {
    return write([&](Operation& op) { return retry_job(op, job); });
  }
  Status commit(const Held& held, const std::string& set, std::int64_t step,
                std::int64_t covered_us = 0) {
    return write([&](Operation& op) {
      return commit_set(op, held.ref,
                        {.id = set, .step = step, .manifest = "{}", .covered_us = covered_us});
    });
  }

  Json job(const std::string& id) {
    return must(read([&](db::Session& s) { return job_view(s, id, std::nullopt, true); }));
  }
  std::string status(const std::string& id) { return job(id).at("status"); }
  std::int64_t events(const std::string& job, const std::string& type) {
    return number("SELECT count(*) FROM event WHERE job_id = ? AND type = ?", job, type);
  }

  ManualClock clock;
  SeededRandom random;

 private:
  Status round(Operation& op) {
    op.lease_ms = TRY(advancer_.advance(op.session));
    op.wall_ms = clock.wall_ms();
    TRY(lose_silent_nodes(op));
    TRY(expire_leases(op));
    TRY(ready_due(op));
    return {};
  }

  db::testing::TestDatabase db_;
  db::testing::Transactions calls_;
  LeaseClockAdvancer advancer_;
  int nodes_ = 0;
};

}  // namespace loam::jobs::testing
