// SPDX-License-Identifier: Apache-2.0
// A seeded simulator: random nodes, jobs, calls, losses and server pauses under a clock that only
// the simulator moves. After each round every invariant of the tables is checked. A seed that fails
// is run again alone with LOAM_SIM_SEED=n.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <set>

#include "jobs/jobs_testing.h"
#include "jobs/publish.h"

namespace loam::jobs {
namespace {

using testing::Held;
using testing::must;
using testing::World;

constexpr int kSeeds = 50;
constexpr int kSteps = 1'000;
constexpr int kStepsPerCheck = 25;
constexpr std::size_t kMostNodes = 12;

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : world_(seed), random_(seed ^ 0x9e3779b97f4a7c15ULL) {
    for (int i = 0; i < 4; ++i)
      add_node();
  }

  void run() {
    for (int i = 0; i < kSteps && !::testing::Test::HasFailure(); i += kStepsPerCheck) {
      world_.together([&] {
        for (int k = 0; k < kStepsPerCheck; ++k)
          step();
        check();
      });
    }
    world_.together([&] { settle(); });
  }

 private:
  // What a node believes; it may be wrong about a lease.
  struct Node {
    std::string id;
    std::map<std::int64_t, Held> held;  // by slot
  };

  std::size_t pick(std::size_t bound) { return random_.below(bound); }

  void add_node() {
    const std::int64_t slots = 1 + static_cast<std::int64_t>(pick(3));
    const std::string pool = pick(4) == 0 ? "gold" : "pool";
    nodes_.push_back({world_.enrol({.pool = pool, .slots = slots, .ttl_ms = 20'000}), {}});
    slots_[nodes_.back().id] = slots;
  }

  void submit() {
    Json more{{"heartbeat_interval", 2}, {"priority", static_cast<int>(pick(3))}};
    if (pick(5) == 0) more["pool"] = "gold";
    if (pick(2) == 0) more["retry"] = {{"max_failures", 5}};
    const std::vector<JobSpec> specs(1 + pick(4), World::spec(more));
    for (const std::string& job : world_.submit_all(specs, pick(2) == 0 ? "ann" : "bob"))
      jobs_.push_back(job);
  }

  void step() {
    switch (pick(16)) {
      case 0:
        if (jobs_.size() < 300) submit();
        break;
      case 1:
        if (nodes_.size() < kMostNodes && pick(10) == 0) add_node();
        break;
      case 2:
      case 3:
      case 4:
        claim();
        break;
      case 5:
        if (pick(4) == 0) lose_node();
        break;
      case 6:
        if (pick(8) == 0) world_.clock.advance(std::chrono::minutes(pick(60)));  // a server pause
        world_.clock.jump_wall(std::chrono::seconds(pick(7'200)) - std::chrono::hours(1));
        break;
      case 7:
      case 8:
        world_.pass(static_cast<std::int64_t>(pick(3'000)));
        break;
      case 9:
        if (!jobs_.empty()) cancel_or_retry(jobs_[pick(jobs_.size())]);
        break;
      case 10:
        publish();
        break;
      default:
        call_about_a_lease();
    }
  }

  void claim() {
    Node& node = nodes_[pick(nodes_.size())];
    const auto slot = static_cast<std::int64_t>(pick(static_cast<std::size_t>(slots_[node.id])));
    if (node.held.contains(slot)) return;
    const ClaimRequest request{node.id, slot, random_token(random_, 8), random_token(random_, 16)};
    const auto held = world_.try_claim(request);
    // A slot whose old lease is still held after the node was replaced is not free yet.
    if (!held || !*held) return;
    // The answer may get lost on the way; the same claim then gives the same lease.
    if (pick(4) == 0) {
      const auto again = must(world_.try_claim(request));
      ASSERT_TRUE(again);
      ASSERT_EQ(again->claimed.job, (*held)->claimed.job);
      ASSERT_EQ(again->claimed.epoch, (*held)->claimed.epoch);
    }
    node.held.insert_or_assign(slot, **held);
  }

  // The node forgets all that it did: its machine is gone, and another comes in its place.
  void lose_node() {
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(pick(nodes_.size())));
    add_node();
  }

  void call_about_a_lease() {
    Node& node = nodes_[pick(nodes_.size())];
    if (node.held.empty()) return;
    auto it = std::next(node.held.begin(), static_cast<std::ptrdiff_t>(pick(node.held.size())));
    const Status status = call(it->second);
    if (status) {
      if (ended_) node.held.erase(it);
      return;
    }
    if (status.error().code == ErrorCode::kLeaseLost) {
      node.held.erase(it);
      return;
    }
    // An expired lease must be renewed first.
    ASSERT_EQ(status.error().code, ErrorCode::kConflict) << status.error().message;
  }

  Status call(const Held& held) {
    ended_ = false;
    switch (pick(12)) {
      case 0:
        return ended(world_.complete(held));
      case 1:
        return ended(
            world_.complete(held, {{"k/a", "users/a", 1, "e"}, {"k/b", "users/b", 1, "e"}}));
      case 2: {
        static const std::array<const char*, 3> kCauses{"program", "stalled", "platform"};
        return ended(world_.fail(held, kCauses[pick(3)]));
      }
      case 3:
        return ended(world_.release(held));
      case 4: {
        ++step_;
        return world_.commit(held, "set-" + std::to_string(step_), step_);
      }
      default: {
        Renewal renewal{.step = step_};
        if (!held.claimed.candidates.empty()) {
          renewal.resumed_set = held.claimed.candidates[0].set;
          renewal.resumed_step = held.claimed.candidates[0].step;
        }
        const auto renewed = world_.renew(held, renewal);
        return renewed ? Status() : Status(loam::fail(renewed.error()));
      }
    }
  }
  Status ended(Status status) {
    ended_ = status.has_value();
    return status;
  }

  void cancel_or_retry(const std::string& job) {
    if (pick(3) == 0) {
      static_cast<void>(world_.retry(job));
    } else if (pick(4) == 0) {
      static_cast<void>(world_.cancel(job));
    }
  }

  void publish() {
    for (const PendingOutput& one :
         must(world_.read([](db::Session& s) { return pending_outputs(s, 3); }))) {
      must(world_.write([&](Operation& op) -> Status {
        if (pick(20) == 0) return fail_publishing(op, one.job, one.epoch, "gone");
        return mark_published(op, one.job, one.epoch, {one.index});
      }));
    }
  }

  void none(const char* what, std::string_view sql) {
    EXPECT_EQ(world_.rows(sql).size(), 0U) << what;
  }

  void check() {
    none("a held lease whose attempt does not run",
         "SELECT 1 FROM lease l LEFT JOIN attempt a ON a.job_id = l.job_id AND a.epoch = l.epoch "
         "WHERE a.state IS NULL OR a.state <> 'running'");
    none("a running attempt without its lease",
         "SELECT 1 FROM attempt a LEFT JOIN lease l ON l.job_id = a.job_id AND l.epoch = a.epoch "
         "WHERE a.state = 'running' AND l.job_id IS NULL");
    none("a lease that is not of the job's newest epoch",
         "SELECT 1 FROM lease l JOIN job j ON j.id = l.job_id WHERE l.epoch <> j.epoch");
    none("two attempts that run for one job",
         "SELECT job_id FROM attempt WHERE state = 'running' GROUP BY job_id HAVING count(*) > 1");
    none("two held leases of one slot",
         "SELECT 1 FROM lease WHERE state = 'held' GROUP BY node_id, slot HAVING count(*) > 1");
    none("a queue row of a job that neither waits nor recovers",
         "SELECT 1 FROM queue q JOIN job j ON j.id = q.job_id LEFT JOIN lease l ON l.job_id = j.id "
         "WHERE NOT (j.status = 'pending' AND l.job_id IS NULL) AND "
         "NOT (j.status = 'running' AND l.state = 'expired')");
    none("a job that was lost: it waits or recovers without a queue row, or runs without a lease",
         "SELECT 1 FROM job j LEFT JOIN queue q ON q.job_id = j.id LEFT JOIN lease l "
         "ON l.job_id = j.id WHERE (j.status = 'pending' AND q.job_id IS NULL) OR "
         "(l.state = 'expired' AND q.job_id IS NULL) OR (j.status = 'running' AND "
         "l.job_id IS NULL AND j.phase <> 'uploading') OR (j.phase = 'uploading' AND NOT EXISTS "
         "(SELECT 1 FROM output_file o WHERE o.job_id = j.id AND o.done = 0))");
    none("a lane whose count is wrong",
         "SELECT 1 FROM lane l WHERE l.waiting <> (SELECT count(*) FROM queue q WHERE "
         "q.shape = l.shape AND q.owner = l.owner)");
    none("a queue row without a lane",
         "SELECT 1 FROM queue q LEFT JOIN lane l ON l.shape = q.shape AND l.owner = q.owner "
         "WHERE l.shape IS NULL");
    none("an owner whose load is wrong",
         "SELECT 1 FROM owner_load o WHERE o.running <> (SELECT count(*) FROM attempt a "
         "JOIN job j ON j.id = a.job_id WHERE j.owner = o.owner AND a.state = 'running')");
    none("an attempt that ended without a time",
         "SELECT 1 FROM attempt WHERE (state = 'running') <> (ended_lc IS NULL)");
    none("an epoch that was skipped",
         "SELECT 1 FROM job j WHERE j.epoch <> (SELECT count(*) FROM attempt a WHERE "
         "a.job_id = j.id) OR j.epoch <> coalesce((SELECT max(epoch) FROM attempt a WHERE "
         "a.job_id = j.id), 0)");
    none("a finished job with no event of its end, or two",
         "SELECT 1 FROM job j WHERE j.status = 'completed' AND 1 <> (SELECT count(*) FROM event e "
         "WHERE e.job_id = j.id AND e.type = 'job.completed')");
    EXPECT_EQ(world_.number("SELECT count(*) FROM event"),
              world_.number("SELECT value FROM counter WHERE name = 'event'"));
    check_history();
  }

  void check_history() {
    std::size_t seen = 0;
    for (const db::Row& row : world_.rows("SELECT id, epoch, status, finished_at FROM job")) {
      ++seen;
      std::int64_t& epoch = epochs_[row.text(0)];
      EXPECT_GE(row.integer(1), epoch) << "epochs only grow";
      epoch = row.integer(1);
      if (completed_.contains(row.text(0))) {
        EXPECT_EQ(completed_[row.text(0)], row.opt_integer(3).value_or(-1));
        EXPECT_EQ(row.text(2), "completed") << "a completed job stays so";
      } else if (row.text(2) == "completed") {
        completed_[row.text(0)] = row.opt_integer(3).value_or(-1);
      }
    }
    EXPECT_EQ(seen, jobs_.size());
  }

  // With calm, healthy nodes everything comes to an end.
  void settle() {
    const std::string any = world_.enrol({.slots = 1'000});
    const std::string gold = world_.enrol({.pool = "gold", .slots = 1'000});
    std::int64_t slot = 0;
    for (int round = 0; round < 50; ++round) {
      world_.pass(10'000);
      for (const std::string& node : {any, gold}) {
        while (slot < 1'000) {
          const auto held = must(world_.try_claim(node, slot++));
          if (!held) break;
          must(world_.complete(*held));
        }
      }
      publish();
      if (world_.rows("SELECT 1 FROM job WHERE status IN ('pending', 'running')").empty()) break;
    }
    check();
    none("a job that never ends", "SELECT 1 FROM job WHERE status IN ('pending', 'running')");
    none("a lease that never ends", "SELECT 1 FROM lease");
    none("load without attempts", "SELECT 1 FROM owner_load WHERE running <> 0");
  }

  World world_;
  SeededRandom random_;
  std::vector<Node> nodes_;
  std::map<std::string, std::int64_t> slots_;
  std::vector<std::string> jobs_;
  std::map<std::string, std::int64_t> epochs_;
  std::map<std::string, std::int64_t> completed_;  // and when
  std::int64_t step_ = 0;
  bool ended_ = false;
};

TEST(JobsSimulation, InvariantsHold) {
  if (const char* seed = std::getenv("LOAM_SIM_SEED")) {
    Simulation(std::strtoull(seed, nullptr, 10)).run();
    return;
  }
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Simulation(seed).run();
    ASSERT_FALSE(HasFailure()) << "LOAM_SIM_SEED=" << seed;
  }
}

}  // namespace
}  // namespace loam::jobs
