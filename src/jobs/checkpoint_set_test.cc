// SPDX-License-Identifier: Apache-2.0
#include "jobs/checkpoint_set.h"

#include <gtest/gtest.h>

#include "jobs/jobs_testing.h"

namespace loam::jobs {
namespace {

using testing::code_of;
using testing::Held;
using testing::must;
using testing::World;

std::vector<std::string> candidates(const Held& held) {
  std::vector<std::string> out;
  for (const ResumeCandidate& one : held.claimed.candidates)
    out.push_back(one.set);
  return out;
}

std::string state(World& world, const std::string& set) {
  return world.text("SELECT state FROM checkpoint_set WHERE id = ?", set);
}

// Resumes from the first candidate, gets to `step` and crashes, on a node of its own.
Held crash(World& world, std::optional<std::int64_t> step = std::nullopt) {
  const Held held = world.claim(world.enrol());
  Renewal renewal;
  if (!held.claimed.candidates.empty()) {
    renewal.resumed_set = held.claimed.candidates[0].set;
    renewal.resumed_step = held.claimed.candidates[0].step;
  }
  renewal.step = step;
  must(world.renew(held, renewal));
  must(world.fail(held));
  world.pass(300'000);
  return held;
}

TEST(CheckpointSetTest, CommittingIsIdempotentAndBoundToTheLease) {
  World world;
  const std::string job = world.submit();
  const Held held = world.claim(world.enrol());
  must(world.commit(held, "set-a", 5));
  must(world.commit(held, "set-a", 5));
  EXPECT_EQ(world.job(job).at("recovery_step"), 5);
  EXPECT_EQ(world.events(job, "checkpoint.committed"), 1);
  const auto prefix =
      must(world.read([&](db::Session& s) { return readable_set_prefix(s, job, "set-a"); }));
  EXPECT_TRUE(prefix.starts_with("jobs/" + job + "/1-"));
  EXPECT_TRUE(prefix.ends_with("/ckpt/5-set-a/"));
  // Another job may neither read it nor take its id.
  world.submit();
  const Held other = world.claim(world.enrol());
  EXPECT_EQ(code_of(world.commit(other, "set-a", 6)), ErrorCode::kConflict);
  EXPECT_EQ(code_of(world.read([&](db::Session& s) {
              return readable_set_prefix(s, other.claimed.job, "set-a");
            })),
            ErrorCode::kNotFound);
}

// A set exists from the transaction that commits it, and what is shown is the newest of those.
TEST(CheckpointSetTest, TheRecoveryPointIsTheNewestCommittedSet) {
  World world;
  const std::string job = world.submit();
  const Held held = world.claim(world.enrol());
  must(world.commit(held, "set-9", 9));
  must(world.renew(held, {.step = 12}));
  EXPECT_EQ(world.job(job).at("recovery_step"), 9);
  EXPECT_EQ(world.job(job).at("step"), 12);
  must(world.commit(held, "set-10", 10));
  EXPECT_EQ(world.job(job).at("recovery_step"), 10);
}

TEST(CheckpointSetTest, ABadSetFallsBackToTheOneBefore) {
  World world;
  const std::string job = world.submit();
  const std::string node = world.enrol();
  const Held held = world.claim(node);
  must(world.commit(held, "set-10", 10));
  must(world.commit(held, "set-20", 20));
  must(world.release(held));
  const Held next = world.claim(node);
  EXPECT_EQ(candidates(next), (std::vector<std::string>{"set-20", "set-10"}));
  const auto mark = [&](const Held& by) {
    return world.write(
        [&](Operation& op) { return mark_set_bad(op, by.ref, "set-20", "block 3 is corrupt"); });
  };
  EXPECT_EQ(code_of(mark(held)), ErrorCode::kLeaseLost);
  must(mark(next));
  must(mark(next));
  EXPECT_EQ(world.events(job, "checkpoint.bad"), 1);
  EXPECT_EQ(world.job(job).at("recovery_step"), 10);
  must(world.release(next));
  EXPECT_EQ(candidates(world.claim(node)), (std::vector<std::string>{"set-10"}));
}

TEST(CheckpointSetTest, ThreeCrashesOnLoadMakeASetSuspectAndAreForgiven) {
  World world;
  const std::string job = world.submit();
  const Held first = world.claim(world.enrol());
  must(world.commit(first, "set-10", 10));
  must(world.commit(first, "set-20", 20));
  must(world.release(first));
  crash(world);
  crash(world, 20);
  EXPECT_EQ(world.job(job).at("num_failures"), 2);
  EXPECT_EQ(state(world, "set-20"), "committed");
  const Held third = crash(world);
  EXPECT_EQ(world.status(job), "pending");
  EXPECT_EQ(world.job(job).at("num_failures"), 0);
  EXPECT_EQ(state(world, "set-20"), "suspect");
  EXPECT_EQ(world.job(job).at("recovery_step"), 10);
  EXPECT_EQ(world.events(job, "checkpoint.suspect"), 1);
  // The nodes were not to blame, and the set before goes first.
  const Held fourth = world.claim(third.ref.node);
  EXPECT_EQ(candidates(fourth), (std::vector<std::string>{"set-10", "set-20"}));
}

TEST(CheckpointSetTest, AStepClearsASetOfBlame) {
  World world;
  const std::string job = world.submit("ann", {{"retry", {{"max_failures", 10}}}});
  const Held first = world.claim(world.enrol());
  must(world.commit(first, "set-10", 10));
  must(world.release(first));
  crash(world);
  crash(world);
  crash(world, 11);
  crash(world);
  crash(world);
  EXPECT_EQ(state(world, "set-10"), "committed");
  EXPECT_EQ(world.job(job).at("num_failures"), 5);
}

// Failures that a retry has wiped cannot be forgiven a second time.
TEST(CheckpointSetTest, ForgivingStopsAtZero) {
  World world;
  const std::string job = world.submit("ann", {{"retry", {{"max_failures", 2}}}});
  const Held first = world.claim(world.enrol());
  must(world.commit(first, "set-10", 10));
  must(world.release(first));
  crash(world);
  crash(world);
  EXPECT_EQ(world.status(job), "failed");
  must(world.retry(job));
  crash(world);
  EXPECT_EQ(state(world, "set-10"), "suspect");
  EXPECT_EQ(world.job(job).at("num_failures"), 0);
}

// A run that fell back writes the same step again; its set is the one that the history now holds,
// whatever the wall clock of the server that committed it said.
TEST(CheckpointSetTest, OfOneStepTheLaterEpochComesFirst) {
  World world;
  const std::string job = world.submit();
  const std::string node = world.enrol();
  const Held first = world.claim(node);
  must(world.commit(first, "set-old", 10));
  must(world.release(first));
  const Held second = world.claim(node);
  must(world.commit(second, "set-new", 10));
  must(world.commit(second, "set-low", 5));
  must(world.commit(second, "set-again", 10));
  world.exec("UPDATE checkpoint_set SET committed_at = 4000 WHERE id = 'set-old'");
  world.exec("UPDATE checkpoint_set SET committed_at = 3000 WHERE id = 'set-low'");
  world.exec("UPDATE checkpoint_set SET committed_at = 2000 WHERE id = 'set-again'");
  world.exec("UPDATE checkpoint_set SET committed_at = 1000 WHERE id = 'set-new'");
  must(world.release(second));
  const std::vector<std::string> wanted{"set-again", "set-new", "set-old", "set-low"};
  std::vector<std::string> listed;
  for (const CheckpointSet& set :
       must(world.read([&](db::Session& s) { return list_sets(s, job); })))
    listed.push_back(set.id);
  EXPECT_EQ(listed, wanted);
  EXPECT_EQ(candidates(world.claim(node)), wanted);
}

TEST(CheckpointSetTest, PinnedSetsAreNotRetired) {
  World world;
  const std::string job = world.submit();
  const Held held = world.claim(world.enrol());
  must(world.commit(held, "set-1", 1));
  must(world.commit(held, "set-2", 2));
  must(world.write([&](Operation& op) { return pin_set(op, job, "set-1", true); }));
  must(world.write([&](Operation& op) { return retire_sets(op, {"set-1", "set-2"}); }));
  EXPECT_EQ(state(world, "set-1"), "committed");
  EXPECT_EQ(state(world, "set-2"), "retired");
  EXPECT_EQ(code_of(world.write([&](Operation& op) { return pin_set(op, job, "set-2", true); })),
            ErrorCode::kNotFound);
  // A retired set may be on its way out of the store already.
  EXPECT_EQ(
      code_of(world.read([&](db::Session& s) { return readable_set_prefix(s, job, "set-2"); })),
      ErrorCode::kNotFound);
  const auto retired = must(world.read([](db::Session& s) { return retired_sets(s, 10); }));
  ASSERT_EQ(retired.size(), 1U);
  must(world.write([&](Operation& op) { return mark_set_deleted(op, "set-2"); }));
  EXPECT_EQ(must(world.read([](db::Session& s) { return retired_sets(s, 10); })).size(), 0U);
}

TEST(CheckpointSetTest, SetsOutliveTheAttemptAndTheJobsEnd) {
  World world;
  const std::string job = world.submit();
  const Held held = world.claim(world.enrol());
  must(world.commit(held, "set-1", 1));
  must(world.cancel(job));
  EXPECT_EQ(state(world, "set-1"), "committed");
  must(world.retry(job));
  EXPECT_EQ(candidates(world.claim(world.enrol())), (std::vector<std::string>{"set-1"}));
}

}  // namespace
}  // namespace loam::jobs
