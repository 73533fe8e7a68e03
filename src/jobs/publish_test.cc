// SPDX-License-Identifier: Apache-2.0
#include "jobs/publish.h"

#include <gtest/gtest.h>

#include "jobs/jobs_testing.h"
#include "jobs/sweep.h"

namespace loam::jobs {
namespace {

using testing::code_of;
using testing::Held;
using testing::must;
using testing::World;

const std::vector<OutputFile> kThree{{"jobs/x/out/0/a", "users/ann/a", 1, "e1"},
                                     {"jobs/x/out/0/b", "users/ann/b", 2, "e2"},
                                     {"jobs/x/out/0/c", "users/ann/c", 3, "e3"}};

std::vector<PendingOutput> pending(World& world) {
  return must(world.read([](db::Session& s) { return pending_outputs(s, 100); }));
}

Status mark(World& world, const std::string& job, const std::vector<std::int64_t>& indexes,
            std::int64_t epoch = 1) {
  return world.write([&](Operation& op) { return mark_published(op, job, epoch, indexes); });
}

TEST(PublishTest, CompletedComesWithTheLastMarkOnly) {
  World world;
  const std::string node = world.enrol();
  const std::string job = world.submit();
  must(world.complete(world.claim(node), kThree));
  EXPECT_EQ(world.status(job), "running");
  EXPECT_EQ(world.job(job).at("phase"), "uploading");
  ASSERT_EQ(pending(world).size(), 3U);
  EXPECT_EQ(pending(world)[1].file.destination, "users/ann/b");
  must(mark(world, job, {1}));
  must(mark(world, job, {1}));
  must(mark(world, job, {0}));
  EXPECT_EQ(world.status(job), "running");
  EXPECT_EQ(world.events(job, "job.completed"), 0);
  must(mark(world, job, {2}));
  EXPECT_EQ(world.status(job), "completed");
  // A server that was slower than its successor changes nothing.
  must(mark(world, job, {0, 1, 2}));
  EXPECT_EQ(world.events(job, "job.completed"), 1);
  EXPECT_TRUE(pending(world).empty());
}

TEST(PublishTest, TheSlotIsFreeMeanwhile) {
  World world;
  const std::string node = world.enrol();
  world.submit();
  const Held held = world.claim(node);
  must(world.complete(held, kThree));
  must(world.complete(held, kThree));
  EXPECT_EQ(pending(world).size(), 3U);
  const std::string next = world.submit();
  EXPECT_EQ(world.claimed_job(node), next);
  EXPECT_EQ(world.number("SELECT running FROM owner_load"), 1);
}

TEST(PublishTest, AJobWhoseOutputsArePublishedCannotBeCanceled) {
  World world;
  const std::string job = world.submit();
  must(world.complete(world.claim(world.enrol()), kThree));
  EXPECT_EQ(code_of(world.cancel(job)), ErrorCode::kConflict);
  EXPECT_EQ(code_of(world.retry(job)), ErrorCode::kConflict);
  world.pass(200'000);
  EXPECT_EQ(world.claimed_job(world.enrol()), "");
}

TEST(PublishTest, AMissingSourceFailsTheJob) {
  World world;
  const std::string job = world.submit();
  must(world.complete(world.claim(world.enrol()), kThree));
  must(mark(world, job, {0}));
  must(world.write([&](Operation& op) { return fail_publishing(op, job, 1, "b is gone"); }));
  EXPECT_EQ(world.status(job), "failed");
  EXPECT_EQ(world.job(job).at("reason"), "publish");
  EXPECT_TRUE(pending(world).empty());
  must(mark(world, job, {1, 2}));
  EXPECT_EQ(world.status(job), "failed");
  // A retry begins with an empty journal.
  must(world.retry(job));
  must(world.complete(world.claim(world.enrol()), {}));
  EXPECT_EQ(world.status(job), "completed");
}

// A server that still copies for an attempt whose job has failed and was retried since.
TEST(PublishTest, ALateMarkDoesNotCompleteARunningRetry) {
  World world;
  const std::string job = world.submit();
  must(world.complete(world.claim(world.enrol()), kThree));
  must(world.write([&](Operation& op) { return fail_publishing(op, job, 1, "b is gone"); }));
  must(world.retry(job));
  const Held again = world.claim(world.enrol());
  must(mark(world, job, {2}));
  EXPECT_EQ(world.status(job), "running");
  EXPECT_TRUE(world.renew(again));
}

// Nor may it touch the journal of the attempt that came after: the files have the same indexes.
TEST(PublishTest, ALateMarkOrFailureOfAnEarlierEpochLeavesTheNewJournalAlone) {
  World world;
  const std::string job = world.submit();
  must(world.complete(world.claim(world.enrol()), kThree));
  EXPECT_EQ(pending(world).at(0).epoch, 1);
  must(world.write([&](Operation& op) { return fail_publishing(op, job, 1, "b is gone"); }));
  must(world.retry(job));
  must(world.complete(world.claim(world.enrol()), kThree));
  ASSERT_EQ(pending(world).size(), 3U);
  EXPECT_EQ(pending(world).at(0).epoch, 2);
  must(mark(world, job, {0, 1, 2}));
  EXPECT_EQ(pending(world).size(), 3U);
  must(world.write([&](Operation& op) { return fail_publishing(op, job, 1, "b is gone"); }));
  EXPECT_EQ(world.status(job), "running");
  must(mark(world, job, {0, 1, 2}, 2));
  EXPECT_EQ(world.status(job), "completed");
}

TEST(SweepTest, OnlyEndedAttemptsPastTheGracePeriodAreSwept) {
  World world;
  const std::string job = world.submit();
  const Held held = world.claim(world.enrol());
  must(world.commit(held, "set-1", 1));
  const auto tasks = [&](std::int64_t grace_ms) {
    return must(world.write([&](Operation& op) { return unswept_attempts(op, grace_ms, 10); }));
  };
  world.pass(5'000);
  EXPECT_TRUE(tasks(0).empty());
  must(world.complete(held, kThree));
  world.pass(5'000);
  // Its outputs are still needed.
  EXPECT_TRUE(tasks(0).empty());
  must(mark(world, job, {0, 1, 2}));
  EXPECT_TRUE(tasks(5'001).empty());
  ASSERT_EQ(tasks(5'000).size(), 1U);
  EXPECT_TRUE(tasks(0)[0].prefix.starts_with("jobs/" + job + "/1-"));
  const auto live = must(world.read([&](db::Session& s) { return live_set_prefixes(s, job, 1); }));
  EXPECT_EQ(live.size(), 1U);
  must(world.write([&](Operation& op) { return mark_swept(op, job, 1); }));
  EXPECT_TRUE(tasks(0).empty());
}

}  // namespace
}  // namespace loam::jobs
