// SPDX-License-Identifier: Apache-2.0
#include "jobs/finish.h"

#include <gtest/gtest.h>

#include "jobs/jobs_testing.h"

namespace loam::jobs {
namespace {

using testing::code_of;
using testing::Held;
using testing::must;
using testing::World;

TEST(FinishTest, BackOffGrowsToFiveMinutes) {
  EXPECT_EQ(back_off_ms(0), 2'000);
  EXPECT_EQ(back_off_ms(1), 2'000);
  EXPECT_EQ(back_off_ms(2), 8'000);
  EXPECT_EQ(back_off_ms(3), 32'000);
  EXPECT_EQ(back_off_ms(4), 128'000);
  EXPECT_EQ(back_off_ms(5), 300'000);
  EXPECT_EQ(back_off_ms(1'000'000), 300'000);
}

TEST(FinishTest, AFailedJobIsPendingAtOnceWithBackOff) {
  World world;
  const std::string job = world.submit();
  must(world.fail(world.claim(world.enrol())));
  EXPECT_EQ(world.status(job), "pending");
  EXPECT_EQ(world.job(job).at("phase"), "backoff");
  const std::string other = world.enrol();
  world.pass(1'999);
  EXPECT_EQ(world.claimed_job(other), "");
  world.pass(1);
  const Held held = world.claim(other);
  must(world.fail(held));
  world.pass(7'000);
  EXPECT_EQ(world.claimed_job(world.enrol()), "");
  world.pass(1'000);
  EXPECT_EQ(world.claimed_job(world.enrol()), job);
}

TEST(FinishTest, TheBudgetOfTheProgramEndsTheJob) {
  World world;
  const std::string job = world.submit("ann", {{"retry", {{"max_failures", 2}}}});
  must(world.fail(world.claim(world.enrol())));
  world.pass(400'000);
  const Held last = world.claim(world.enrol());
  must(world.fail(last, "stalled"));
  EXPECT_EQ(world.status(job), "failed");
  EXPECT_EQ(world.job(job).at("reason"), "max_failures");
  EXPECT_EQ(world.events(job, "job.failed"), 1);
  // The answer may get lost; repeating the call changes nothing.
  must(world.fail(last, "stalled"));
  EXPECT_EQ(world.job(job).at("num_failures"), 2);
  EXPECT_EQ(world.number("SELECT count(*) FROM queue"), 0);
}

TEST(FinishTest, ThePlatformHasABudgetOfItsOwn) {
  World world;
  const std::string node = world.enrol();
  const std::string job = world.submit();
  for (std::int64_t i = 1; i < kMaxPlatformFailures; ++i) {
    // No ban: the same node may try again.
    must(world.fail(world.claim(node), "platform"));
    ASSERT_EQ(world.status(job), "pending");
    world.pass(300'000);
  }
  EXPECT_EQ(world.job(job).at("num_failures"), 0);
  must(world.fail(world.claim(node), "platform"));
  EXPECT_EQ(world.status(job), "failed");
  EXPECT_EQ(world.job(job).at("reason"), "platform");
}

TEST(FinishTest, AStalledJobMayRunOnTheSameNode) {
  World world;
  const std::string node = world.enrol();
  const std::string job = world.submit();
  must(world.fail(world.claim(node), "stalled"));
  world.pass(2'000);
  EXPECT_EQ(world.claimed_job(node), job);
  EXPECT_EQ(world.job(job).at("num_failures"), 1);
}

TEST(FinishTest, AFailureBansTheNodeAndARetryForgives) {
  World world;
  const std::string node = world.enrol();
  const std::string job = world.submit("ann", {{"retry", {{"max_failures", 1}}}});
  must(world.fail(world.claim(node)));
  EXPECT_EQ(world.status(job), "failed");
  EXPECT_EQ(code_of(world.cancel(job)), ErrorCode::kConflict);
  must(world.retry(job));
  EXPECT_EQ(code_of(world.retry(job)), ErrorCode::kConflict);
  EXPECT_EQ(world.job(job).at("num_failures"), 0);
  const Held again = world.claim(node);
  EXPECT_EQ(again.claimed.job, job);
  EXPECT_EQ(again.claimed.epoch, 2);
  EXPECT_EQ(code_of(world.retry("j-none")), ErrorCode::kNotFound);
}

TEST(FinishTest, AReleasedJobGoesFirstAndNothingCounts) {
  World world;
  const std::string node = world.enrol();
  const std::string released = world.submit();
  const Held held = world.claim(node);
  world.submit("ann", {{"priority", 100}});
  must(world.release(held));
  must(world.release(held));
  EXPECT_EQ(world.job(released).at("num_failures"), 0);
  EXPECT_EQ(world.job(released).at("num_interruptions"), 1);
  EXPECT_EQ(world.claimed_job(node), released);
}

TEST(FinishTest, ACompletedJobNeverRunsAgain) {
  World world;
  const std::string node = world.enrol();
  const std::string job = world.submit();
  const Held held = world.claim(node);
  must(world.complete(held));
  must(world.complete(held));
  EXPECT_EQ(world.events(job, "job.completed"), 1);
  EXPECT_EQ(code_of(world.fail(held)), ErrorCode::kLeaseLost);
  EXPECT_EQ(code_of(world.renew(held)), ErrorCode::kLeaseLost);
  EXPECT_EQ(code_of(world.cancel(job)), ErrorCode::kConflict);
  EXPECT_EQ(code_of(world.retry(job)), ErrorCode::kConflict);
  world.pass(200'000);
  EXPECT_EQ(world.claimed_job(node), "");
  EXPECT_EQ(world.status(job), "completed");
}

TEST(CancelTest, APendingJobLeavesTheQueue) {
  World world;
  const std::string job = world.submit();
  EXPECT_FALSE(must(world.cancel(job)));
  EXPECT_FALSE(must(world.cancel(job)));
  EXPECT_EQ(world.number("SELECT count(*) FROM queue"), 0);
  EXPECT_EQ(world.number("SELECT count(*) FROM lane"), 0);
  EXPECT_EQ(world.events(job, "job.canceled"), 1);
  EXPECT_EQ(code_of(world.cancel("j-none")), ErrorCode::kNotFound);
}

TEST(CancelTest, ARunningJobFreesItsSlotAndItsOwnersLoad) {
  World world;
  const std::string node = world.enrol();
  const std::string job = world.submit();
  const Held held = world.claim(node);
  EXPECT_EQ(must(world.cancel(job)), node);
  EXPECT_EQ(world.status(job), "canceled");
  EXPECT_EQ(code_of(world.renew(held)), ErrorCode::kLeaseLost);
  EXPECT_EQ(code_of(world.complete(held)), ErrorCode::kLeaseLost);
  EXPECT_EQ(world.number("SELECT running FROM owner_load"), 0);
  EXPECT_EQ(world.number("SELECT count(*) FROM lease"), 0);
  const std::string next = world.submit();
  EXPECT_EQ(world.claimed_job(node), next);
}

TEST(CancelTest, AJobThatRecoversLeaksNothing) {
  World world;
  const std::string job = world.submit("ann", {{"heartbeat_interval", 4}});
  const Held held = world.claim(world.enrol());
  world.pass(11'000);
  EXPECT_EQ(world.job(job).at("phase"), "recovering");
  must(world.cancel(job));
  EXPECT_EQ(code_of(world.renew(held)), ErrorCode::kLeaseLost);
  for (const char* table : {"queue", "lane", "lease"})
    EXPECT_EQ(world.number(std::string("SELECT count(*) FROM ") + table), 0) << table;
  EXPECT_EQ(world.number("SELECT running FROM owner_load"), 0);
  EXPECT_EQ(world.text("SELECT state FROM attempt"), "canceled");
  // A retry starts it afresh with the next epoch.
  must(world.retry(job));
  EXPECT_EQ(world.claim(world.enrol()).claimed.epoch, 2);
}

TEST(CancelTest, AJobInItsBackOffStaysCanceled) {
  World world;
  const std::string job = world.submit();
  must(world.fail(world.claim(world.enrol())));
  must(world.cancel(job));
  world.pass(10'000);
  EXPECT_EQ(world.claimed_job(world.enrol()), "");
  EXPECT_EQ(world.status(job), "canceled");
}

}  // namespace
}  // namespace loam::jobs
