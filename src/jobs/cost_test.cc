// SPDX-License-Identifier: Apache-2.0
// What nodes call all the time must not cost more in a large fleet: a plan that reads a whole table
// is right in every other test.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "jobs/jobs_testing.h"

namespace loam::jobs {
namespace {

using testing::Held;
using testing::must;
using testing::World;

// Counts the steps of SQLite's virtual machine in every statement of every connection that is
// opened while it lives. One at a time.
class StepCounter {
 public:
  StepCounter() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(&StepCounter::attach)); }
  ~StepCounter() {
    sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&StepCounter::attach));
  }
  StepCounter(const StepCounter&) = delete;
  StepCounter& operator=(const StepCounter&) = delete;

  static std::int64_t steps_of(const std::function<void()>& work) {
    steps = 0;
    work();
    return steps;
  }

 private:
  static int attach(sqlite3* db, const char**, const sqlite3_api_routines*) {
    return sqlite3_trace_v2(db, SQLITE_TRACE_PROFILE, &StepCounter::ended, nullptr);
  }
  static int ended(unsigned, void*, void* statement, void*) {
    steps += sqlite3_stmt_status(static_cast<sqlite3_stmt*>(statement), SQLITE_STMTSTATUS_VM_STEP,
                                 /*resetFlg=*/1);
    return 0;
  }

  static inline std::atomic<std::int64_t> steps = 0;
};

// The steps of each call in a fleet of so many nodes, each with a running job that has saved and
// lost a node before.
std::map<std::string, std::int64_t> costs(std::size_t fleet) {
  const StepCounter counter;
  World world;
  std::vector<std::string> nodes;
  std::vector<Held> leases;
  world.together([&] {
    world.submit_all(std::vector<JobSpec>(fleet + 1, World::spec()), "ann");
    for (std::size_t i = 0; i < fleet + 1; ++i)
      nodes.push_back(world.enrol());
    for (std::size_t i = 0; i < fleet; ++i)
      leases.push_back(world.claim(nodes[i]));
    for (std::size_t i = 0; i < fleet; ++i) {
      must(world.commit(leases[i], "set" + std::to_string(i), 1));
      must(world.release(leases[i]));
    }
    leases.clear();
    for (std::size_t i = 0; i < fleet; ++i)
      leases.push_back(world.claim(nodes[i]));
  });
  const Held& mine = leases[fleet / 2];
  std::map<std::string, std::int64_t> out;
  const auto measure = [&](const std::string& name, const std::function<void()>& work) {
    out[name] = StepCounter::steps_of(work);
  };
  measure("renew", [&] { must(world.renew(mine, {.step = 5, .save_cost_us = 1'000})); });
  measure("heartbeat", [&] {
    must(world.write([&](Operation& op) { return touch_node(op, nodes[1], world.now_us()); }));
  });
  measure("claim", [&] { world.claim(nodes[fleet]); });
  measure("commit", [&] { must(world.commit(mine, "next", 2)); });
  measure("complete", [&] { must(world.complete(mine)); });
  measure("submit", [&] { world.submit("ben"); });
  measure("expire leases", [&] { must(world.write(expire_leases)); });
  measure("ready what is due", [&] { must(world.write(ready_due)); });
  return out;
}

TEST(CostTest, WhatNodesCallCostsTheSameInALargeFleet) {
  if (db::testing::TestDatabase::on_postgres()) GTEST_SKIP() << "counts the steps of SQLite";
  const auto few = costs(20);
  const auto many = costs(600);
  for (const auto& [name, steps] : many) {
    EXPECT_GT(steps, 0) << name;
    EXPECT_LT(steps, 2 * few.at(name)) << name << ": " << few.at(name) << " steps among 20 jobs";
  }
}

}  // namespace
}  // namespace loam::jobs
