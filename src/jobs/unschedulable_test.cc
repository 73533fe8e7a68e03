// SPDX-License-Identifier: Apache-2.0
#include "jobs/unschedulable.h"

#include <gtest/gtest.h>

#include "jobs/jobs_testing.h"

namespace loam::jobs {
namespace {

using testing::must;
using testing::World;

class UnschedulableTest : public ::testing::Test {
 protected:
  std::int64_t mark() { return must(world_.write(mark_unschedulable)); }
  std::string phase(const std::string& job) { return world_.job(job).at("phase"); }
  std::string message(const std::string& job) { return world_.job(job).value("message", ""); }

  World world_;
};

TEST_F(UnschedulableTest, WithoutAnyNodeAJobJustWaits) {
  const std::string job = world_.submit("ann", {{"resources", {{"gpus", 8}}}});
  EXPECT_EQ(mark(), 0);
  EXPECT_EQ(phase(job), "queued");
}

TEST_F(UnschedulableTest, WhatNoNodeOffersIsNamedUntilOneComes) {
  const std::string small = world_.enrol({.gpus = Json::array({1}), .gpu_class = "t4"});
  const std::string job =
      world_.submit("ann", {{"resources", {{"gpus", 1}, {"gpu_class", {"h100", "a100"}}}}});
  const std::string other = world_.submit();
  EXPECT_EQ(mark(), 1);
  EXPECT_EQ(mark(), 0);
  EXPECT_EQ(phase(job), "unschedulable");
  EXPECT_EQ(world_.job(job).at("status"), "pending");
  EXPECT_EQ(phase(other), "queued");
  EXPECT_NE(message(job).find("1 GPU a slot, gpu_class"), std::string::npos) << message(job);
  EXPECT_NE(message(job).find("h100"), std::string::npos);
  EXPECT_EQ(world_.events(job, "job.unschedulable"), 1);
  // It kept its place: a node that can run it gets it before anybody has looked again.
  const std::string big = world_.enrol({.gpus = Json::array({1}), .gpu_class = "a100"});
  EXPECT_EQ(world_.claimed_job(small), other);
  EXPECT_EQ(world_.claimed_job(big), job);
  EXPECT_EQ(phase(job), "staging");
  EXPECT_EQ(message(job), "");
}

TEST_F(UnschedulableTest, ItIsQueuedAgainWhenANodeOffersIt) {
  world_.enrol();
  const std::string job = world_.submit("ann", {{"pool", "gold"}});
  mark();
  EXPECT_EQ(phase(job), "unschedulable");
  world_.enrol({.pool = "gold"});
  EXPECT_EQ(mark(), 1);
  EXPECT_EQ(phase(job), "queued");
  EXPECT_EQ(message(job), "");
}

TEST_F(UnschedulableTest, AJobThatFailedOnEveryNodeWaitsForAnotherOrARetry) {
  const std::string a = world_.enrol();
  const std::string b = world_.enrol();
  const std::string job = world_.submit("ann", {{"retry", {{"max_failures", 9}}}});
  for (const std::string& node : {a, b}) {
    EXPECT_EQ(mark(), 0);
    must(world_.fail(world_.claim(node)));
    world_.pass(60'000);
    EXPECT_EQ(phase(job), "queued");
  }
  EXPECT_EQ(mark(), 1);
  EXPECT_EQ(mark(), 0);
  EXPECT_EQ(phase(job), "unschedulable");
  EXPECT_NE(message(job).find("failed on every live node that could run it (2)"), std::string::npos)
      << message(job);
  world_.enrol();
  EXPECT_EQ(mark(), 1);
  EXPECT_EQ(phase(job), "queued");
}

TEST_F(UnschedulableTest, ARetryForgetsTheFailures) {
  const std::string node = world_.enrol();
  const std::string job = world_.submit("ann", {{"retry", {{"max_failures", 9}}}});
  must(world_.fail(world_.claim(node)));
  world_.pass(60'000);
  mark();
  EXPECT_EQ(phase(job), "unschedulable");
  must(world_.retry(job));
  EXPECT_EQ(mark(), 0);
  EXPECT_EQ(phase(job), "queued");
  EXPECT_EQ(world_.claimed_job(node), job);
}

}  // namespace
}  // namespace loam::jobs
