// SPDX-License-Identifier: Apache-2.0
#include "jobs/claim.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "jobs/jobs_testing.h"

namespace loam::jobs {
namespace {

using testing::code_of;
using testing::Held;
using testing::must;
using testing::World;

TEST(ClaimTest, AThousandJobsEachHaveOneOwner) {
  World world;
  const std::string node = world.enrol({.slots = 1'100});
  world.submit_all(std::vector<JobSpec>(1'000, World::spec()), "ann");
  std::set<std::string> jobs;
  world.together([&] {
    for (std::int64_t slot = 0; slot < 1'000; ++slot)
      jobs.insert(world.claimed_job(node, slot));
  });
  EXPECT_EQ(jobs.size(), 1'000U);
  EXPECT_EQ(jobs.count(""), 0U);
  EXPECT_EQ(world.claimed_job(node, 1'000), "");
  EXPECT_EQ(world.number("SELECT count(*) FROM lease"), 1'000);
}

TEST(ClaimTest, ThreadsNeverShareAJob) {
  World world;
  std::vector<std::string> nodes;
  for (int i = 0; i < 8; ++i)
    nodes.push_back(world.enrol({.slots = 100}));
  world.submit_all(std::vector<JobSpec>(500, World::spec()), "ann");
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  std::vector<std::vector<std::string>> claimed(8);
  for (std::size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t slot = 0; slot < 100; ++slot) {
        const auto held = world.try_claim(nodes[t], slot);
        if (!held) {
          ++failures;
        } else if (*held) {
          claimed[t].push_back((*held)->claimed.job);
        }
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  std::set<std::string> all;
  std::size_t count = 0;
  for (const auto& jobs : claimed) {
    all.insert(jobs.begin(), jobs.end());
    count += jobs.size();
  }
  EXPECT_EQ(all.size(), 500U);
  EXPECT_EQ(count, 500U);
}

TEST(ClaimTest, ARepeatedClaimGetsTheSameLease) {
  World world;
  const std::string node = world.enrol();
  world.submit();
  world.submit();
  const ClaimRequest request{node, 0, "claim-1", "token-1"};
  const Held first = *must(world.try_claim(request));
  const Held again = *must(world.try_claim(request));
  EXPECT_EQ(again.claimed.job, first.claimed.job);
  EXPECT_EQ(again.claimed.epoch, first.claimed.epoch);
  EXPECT_TRUE(world.renew(again));
  EXPECT_EQ(world.number("SELECT count(*) FROM attempt"), 1);
  // Another claim for the slot is refused while it is taken.
  EXPECT_EQ(code_of(world.try_claim({node, 0, "claim-2", "token-2"})), ErrorCode::kConflict);
  // Once the attempt has ended, the same claim is a new one.
  must(world.complete(first));
  EXPECT_NE((*must(world.try_claim(request))).claimed.job, first.claimed.job);
}

// The attempt whose lease expired ends with the next claim, and counts in what that is told.
TEST(ClaimTest, TheAdviceKnowsTheLossThatLedToTheClaim) {
  World world;
  world.submit();
  world.claim(world.enrol());
  const std::string next = world.enrol();
  world.pass(200'000);
  const Held again = world.claim(next);
  EXPECT_EQ(again.claimed.epoch, 2);
  EXPECT_EQ(world.number("SELECT interruptions FROM exposure"), 1);
  const std::int64_t known = again.claimed.figures.between_interruptions_us;
  EXPECT_LT(known, kAssumedBetweenInterruptionsUs);
  EXPECT_EQ(known, must(world.read([&](db::Session& s) {
                     return save_figures(s, again.claimed.job);
                   })).between_interruptions_us);
}

TEST(ClaimTest, SlotsOfANodeAreDistinct) {
  World world;
  const std::string node = world.enrol({.slots = 4});
  std::set<std::string> prefixes;
  for (std::int64_t slot = 0; slot < 4; ++slot) {
    world.submit();
    world.claim(node, slot);
  }
  for (const db::Row& row : world.rows("SELECT prefix FROM attempt"))
    prefixes.insert(row.text(0));
  EXPECT_EQ(prefixes.size(), 4U);
  EXPECT_EQ(code_of(world.try_claim(node, 4)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(world.try_claim(node, -1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(world.try_claim("n-nobody", 0)), ErrorCode::kNotFound);
}

TEST(ClaimTest, ADrainingNodeTakesNothing) {
  World world;
  const std::string node = world.enrol();
  world.submit();
  must(world.write([&](Operation& op) { return drain_node(op, node); }));
  EXPECT_EQ(code_of(world.try_claim(node)), ErrorCode::kConflict);
}

TEST(ClaimTest, AnInterruptedJobThatThisNodeMayNotTakeHidesNone) {
  World world;
  const std::string bad = world.enrol();
  const std::string stalled = world.submit();
  must(world.fail(world.claim(bad)));
  world.pass(5'000);
  const std::string fresh = world.submit();
  // Interrupted jobs go first, but not to where they failed.
  EXPECT_EQ(world.claimed_job(bad), fresh);
  EXPECT_EQ(world.claimed_job(world.enrol()), stalled);
}

TEST(ClaimTest, RequirementsAreMet) {
  World world;
  const auto needs = [&](const char* resources, const char* pool = "any") {
    return world.submit("ann", {{"resources", must(parse_json(resources))}, {"pool", pool}});
  };
  const std::string pool = needs("{}", "gold");
  const std::string gpus = needs(R"({"gpus": 2})");
  const std::string type = needs(R"({"gpu_class": ["a100", "h100"]})");
  const std::string vram = needs(R"({"vram_gb": 40})");
  const std::string cheap = needs(R"({"max_price_per_hour": 0.5})");
  // The price and the GPUs of a node are shared by its slots.
  const Json four = Json::array({1, 2, 3, 4});
  EXPECT_EQ(world.claimed_job(world.enrol({.price_uusd_hour = 600'000})), "");
  EXPECT_EQ(world.claimed_job(world.enrol({.slots = 2, .price_uusd_hour = 900'000})), cheap);
  EXPECT_EQ(world.claimed_job(world.enrol({.price_uusd_hour = 600'000})), "");
  EXPECT_EQ(world.claimed_job(world.enrol({.slots = 4, .gpus = four})), "");
  EXPECT_EQ(world.claimed_job(world.enrol({.slots = 2, .gpus = four})), gpus);
  EXPECT_EQ(world.claimed_job(world.enrol({.gpu_class = "h100"})), type);
  EXPECT_EQ(world.claimed_job(world.enrol({.vram_gb = 40})), vram);
  EXPECT_EQ(world.claimed_job(world.enrol({.pool = "gold"})), pool);
}

TEST(ClaimTest, PriorityThenAgeAndAnUnrunnableHeadBlocksNobody) {
  World world;
  const std::string node = world.enrol({.slots = 9});
  const std::string head = world.submit("ann", {{"priority", 1000}, {"resources", {{"gpus", 64}}}});
  const std::string low = world.submit("ann", {{"priority", -1}});
  const std::string first = world.submit("ann");
  const std::string second = world.submit("ann");
  const std::string high = world.submit("ann", {{"priority", 5}});
  std::int64_t slot = 0;
  for (const std::string& job : {high, first, second, low})
    EXPECT_EQ(world.claimed_job(node, slot++), job);
  EXPECT_EQ(world.claimed_job(node, slot), "");
  EXPECT_EQ(world.status(head), "pending");
}

TEST(ClaimTest, OwnersShareWhateverTheyQueue) {
  World world;
  const std::string node = world.enrol({.slots = 40});
  world.submit_all(std::vector<JobSpec>(100, World::spec()), "ann");
  world.submit_all(std::vector<JobSpec>(5, World::spec()), "bob");
  world.submit_all(std::vector<JobSpec>(100, World::spec()), "cem");
  std::map<std::string, int> running;
  for (std::int64_t slot = 0; slot < 15; ++slot)
    ++running[world.claim(node, slot).claimed.owner];
  EXPECT_EQ(running, (std::map<std::string, int>{{"ann", 5}, {"bob", 5}, {"cem", 5}}));
  for (std::int64_t slot = 15; slot < 25; ++slot)
    ++running[world.claim(node, slot).claimed.owner];
  // Bob has no more; the others go on evenly.
  EXPECT_EQ(running, (std::map<std::string, int>{{"ann", 10}, {"bob", 5}, {"cem", 10}}));
}

TEST(ClaimTest, ManyJobsInOneCallAreAllOrNone) {
  World world;
  std::vector<Submission> submissions(1'000, {"ann", World::spec(), {}});
  submissions[500].spec.workdir_id = std::string(64, 'a');
  const auto submit = [&](Operation& op) { return submit_jobs(op, submissions); };
  EXPECT_EQ(code_of(world.write(submit)), ErrorCode::kNotFound);
  for (const char* table : {"job", "queue", "lane", "event", "shape"})
    EXPECT_EQ(world.number(std::string("SELECT count(*) FROM ") + table), 0) << table;
  submissions[500].spec.workdir_id.clear();
  EXPECT_EQ(must(world.write(submit)).size(), 1'000U);
  EXPECT_EQ(world.number("SELECT count(*) FROM queue"), 1'000);
  submissions.push_back(submissions[0]);
  EXPECT_EQ(code_of(world.write(submit)), ErrorCode::kInvalidArgument);
  submissions.clear();
  EXPECT_EQ(code_of(world.write(submit)), ErrorCode::kInvalidArgument);
}

TEST(ClaimTest, SecretsTravelSealedAndAreNotInTheView) {
  World world;
  const JobSpec spec = World::spec({{"secrets", {"KEY"}}});
  const std::vector<Submission> one{{"ann", spec, {{"KEY", "sealed-text"}}}};
  const std::string job =
      must(world.write([&](Operation& op) { return submit_jobs(op, one); })).at(0);
  EXPECT_EQ(world.claim(world.enrol()).claimed.sealed_secrets.at("KEY"), "sealed-text");
  EXPECT_EQ(dump_json(world.job(job)).find("sealed-text"), std::string::npos);
}

TEST(ClaimTest, ResumeCandidatesAreNumericNewestFirstAndSuspectsLast) {
  World world;
  const std::string a = world.enrol();
  world.submit();
  const Held held = world.claim(a);
  for (const std::int64_t step : {9, 100, 10, 1'000})
    must(world.commit(held, "set-" + std::to_string(step), step));
  world.exec("UPDATE checkpoint_set SET state = 'suspect' WHERE id = 'set-1000'");
  must(world.release(held));
  std::vector<std::int64_t> steps;
  for (const ResumeCandidate& one : world.claim(a).claimed.candidates)
    steps.push_back(one.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{100, 10, 9, 1'000}));
}

}  // namespace
}  // namespace loam::jobs
