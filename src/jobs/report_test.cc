// SPDX-License-Identifier: Apache-2.0
#include "jobs/report.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "jobs/fleet_report.h"
#include "jobs/jobs_testing.h"

namespace loam::jobs {
namespace {

using testing::code_of;
using testing::Held;
using testing::must;
using testing::World;

Json report_of(World& world, const std::string& job) {
  return must(world.read([&](db::Session& s) { return job_report(s, job); }));
}

Json fleet(World& world) {
  return must(world.read([](db::Session& s) { return fleet_report(s); }));
}

std::int64_t us(const Json& seconds) {
  return std::llround(seconds.get<double>() * 1e6);
}

std::int64_t sum_us(const Json& by_class) {
  std::int64_t total = 0;
  for (const auto& [name, seconds] : by_class.items())
    total += us(seconds);
  return total;
}

TEST(ReportTest, AJobThatWasHandedOver) {
  World world;
  const std::string a = world.enrol({.name = "a", .price_uusd_hour = 3'600'000'000});
  const std::string b = world.enrol({.name = "b", .price_uusd_hour = 7'200'000'000});
  const std::string job = world.submit();
  const Held first = world.claim(a);
  StepHistogram steps;
  steps.add(1'000, 9);
  steps.add(101'000);
  Segment run{.start_us = 0, .end_us = 200'000, .segment_class = "run", .job = job, .epoch = 1};
  run.data_wait_us = 50'000;
  run.steps = steps;
  must(world.renew(first, {.step = 10, .segments = {run}}));
  must(world.commit(first, "set-10", 10, 200'000));
  Segment lost{.start_us = 200'000, .end_us = 300'000, .segment_class = "run"};
  lost.job = job;
  lost.epoch = 1;
  must(world.renew(first, {.step = 14, .segments = {lost}}));
  must(world.release(first));
  world.pass(3'000);
  const Held second = world.claim(b);
  world.pass(1'000);
  must(world.renew(
      second,
      {.resumed_step = 10, .resumed_set = "set-10", .step = 11, .first_step_ago_us = 500'000}));
  Segment rest{.start_us = 400'000, .end_us = 500'000, .segment_class = "run"};
  rest.job = job;
  rest.epoch = 2;
  must(world.renew(second, {.step = 20, .segments = {rest}}));
  must(world.complete(second));

  const Json report = report_of(world, job);
  const Json& by_class = report.at("seconds_by_class");
  EXPECT_EQ(report.at("status"), "completed");
  EXPECT_EQ(report.at("steps"), 20);
  EXPECT_EQ(report.at("interruptions"), 1);
  EXPECT_EQ(report.at("lost_steps"), 4);
  EXPECT_EQ(report.at("handover_seconds"), 3.5);
  EXPECT_EQ(report.at("resumed_step"), 10);
  EXPECT_EQ(by_class.at("productive"), 0.25);
  EXPECT_EQ(by_class.at("data_wait"), 0.05);
  EXPECT_EQ(by_class.at("lost_work"), 0.1);
  EXPECT_EQ(report.at("seconds_total"), 0.4);
  // 0.3 s at one dollar a second and 0.1 s at two.
  EXPECT_NEAR(report.at("usd").get<double>(), 0.3 + 0.2, 1e-9);
  EXPECT_NEAR(report.at("usd_per_step").get<double>(), 0.5 / 20, 1e-9);
  // The stall of 101 ms counts as three medians.
  EXPECT_NEAR(report.at("goodput").get<double>(), (9 * 1'000 + 3'000) / 400'000.0, 1e-12);
}

TEST(ReportTest, AnUnknownJobIsNotFound) {
  World world;
  EXPECT_EQ(code_of(world.read([](db::Session& s) { return job_report(s, "j-none"); })),
            ErrorCode::kNotFound);
  EXPECT_EQ(fleet(world).at("seconds_total"), 0);
}

TEST(ReportTest, AJobWithoutTimeDividesByNothing) {
  World world;
  const Json report = report_of(world, world.submit());
  EXPECT_TRUE(report.at("goodput").is_null());
  EXPECT_TRUE(report.at("usd_per_step").is_null());
  EXPECT_EQ(report.at("seconds_total"), 0);
}

TEST(ReportTest, TheTimeAfterADeathIsDead) {
  World world;
  const std::string node = world.enrol({.slots = 2, .ttl_ms = 10'000});
  const std::string job = world.submit("ann", {{"heartbeat_interval", 4}});
  const Held held = world.claim(node);
  must(world.renew(held));
  const std::int64_t contact = world.now_us();
  world.pass(11'000);
  world.claim(world.enrol());
  const Json by_class = fleet(world).at("seconds_by_class");
  EXPECT_EQ(by_class.at("dead"), 22);
  EXPECT_EQ(us(by_class.at("unaccounted")), 2 * contact);
  EXPECT_EQ(report_of(world, job).at("seconds_by_class").at("dead"), 11);
}

// One silence of a slot cost its time once, however many attempts were lost on that node before.
TEST(ReportTest, ASecondLossOnANodeCountsItsDeadTimeOnce) {
  World world;
  const std::string flaky = world.enrol({.ttl_ms = 100'000});
  const std::string job = world.submit("ann", {{"heartbeat_interval", 4}});
  must(world.renew(world.claim(flaky)));
  world.pass(11'000);
  must(world.renew(world.claim(flaky)));
  world.pass(110'000);
  world.claim(world.enrol());
  const std::int64_t dead =
      world.number("SELECT paid_us - contact_us FROM node WHERE id = ?", flaky);
  EXPECT_EQ(us(report_of(world, job).at("seconds_by_class").at("dead")), dead);
}

struct Truth {
  std::int64_t explained = 0;
  std::int64_t of_jobs = 0;
};

// Reports a random timeline for one slot, some of it not at all and some twice.
Truth report_slot(World& world, const std::string& node, std::int64_t slot, std::int64_t paid_us,
                  const std::optional<Held>& held) {
  Truth truth;
  const std::int64_t now = world.now_us();
  std::int64_t at = 0;
  while (at < paid_us) {
    const std::int64_t end = std::min(paid_us, at + *rc::gen::inRange<std::int64_t>(1, 400'000));
    Segment segment{.slot = slot, .start_us = at, .end_us = end, .segment_class = "idle"};
    if (held && *rc::gen::arbitrary<bool>()) {
      segment.segment_class = *rc::gen::elementOf(
          std::vector<std::string>{"startup", "restore", "run", "checkpoint", "draining"});
      segment.job = held->claimed.job;
      segment.epoch = held->claimed.epoch;
      segment.data_wait_us = *rc::gen::inRange<std::int64_t>(0, end - at + 1);
      segment.checkpoint_us = end - at - segment.data_wait_us;
    }
    if (*rc::gen::inRange(0, 4) > 0) {
      Segment half = segment;
      half.end_us = at + (end - at) / 2;
      half.data_wait_us = half.checkpoint_us = 0;
      must(world.write([&](Operation& op) -> Status {
        if (*rc::gen::arbitrary<bool>()) {
          TRY_VOID(record_segments(op, node, now, std::vector{half}));
        }
        // The last is an overlap, and is left out.
        Segment beside = segment;
        beside.start_us = at + 1;
        beside.end_us = std::max(end, at + 1);
        return record_segments(op, node, now, std::vector{segment, half, beside});
      }));
      truth.explained += end - at;
      if (!segment.job.empty()) truth.of_jobs += end - at;
    }
    at = end;
  }
  return truth;
}

RC_GTEST_PROP(ReportProperty, TheClassesAddUpToThePaidTimeOfTheSlots, ()) {
  World world;
  const std::string node = world.enrol({.slots = 2, .price_uusd_hour = 2'000'000});
  world.clock.advance(std::chrono::seconds(2));
  const auto paid_us = *rc::gen::inRange<std::int64_t>(1, 2'000'000);
  const std::string job = world.submit("ann");
  const Held held = world.claim(node);
  const Truth busy = report_slot(world, node, 0, paid_us, held);
  const Truth idle = report_slot(world, node, 1, paid_us, std::nullopt);
  if (*rc::gen::arbitrary<bool>()) {
    must(world.commit(held, "set-1", 1, *rc::gen::inRange<std::int64_t>(0, paid_us)));
  }
  if (*rc::gen::arbitrary<bool>()) must(world.release(held));
  world.exec("UPDATE node SET contact_us = ?", paid_us);

  const Json report = fleet(world);
  const Json& by_class = report.at("seconds_by_class");
  RC_ASSERT(us(report.at("seconds_total")) == 2 * paid_us);
  RC_ASSERT(sum_us(by_class) == 2 * paid_us);
  RC_ASSERT(us(by_class.at("unaccounted")) == 2 * paid_us - busy.explained - idle.explained);
  RC_ASSERT(us(by_class.at("dead")) == 0);
  RC_ASSERT(std::abs(report.at("usd").get<double>() -
                     static_cast<double>(2 * paid_us) / 3.6e9 * 1.0) < 1e-9);
  RC_ASSERT(sum_us(report.at("pools").at(0).at("seconds_by_class")) == 2 * paid_us);

  const Json of_job = report_of(world, job);
  const Json& parts = of_job.at("seconds_by_class");
  RC_ASSERT(sum_us(parts) == us(of_job.at("seconds_total")));
  RC_ASSERT(sum_us(parts) - us(parts.at("unaccounted")) == busy.of_jobs);
  RC_ASSERT(us(parts.at("idle")) == 0);
}

TEST(ReportTest, APoolsStepsCarryItsIdleTimeAndItsInterruptions) {
  World world;
  // A dollar a second.
  const std::string node = world.enrol({.pool = "gold",
                                        .gpus = Json::array({1}),
                                        .gpu_class = "t4",
                                        .price_uusd_hour = 3'600'000'000});
  const std::string job = world.submit();
  const Held held = world.claim(node);
  Segment idle{.start_us = 0, .end_us = 600'000, .segment_class = "idle"};
  Segment run{
      .start_us = 600'000, .end_us = 900'000, .segment_class = "run", .job = job, .epoch = 1};
  run.gpu_busy_us = 240'000;
  Segment rest{
      .start_us = 900'000, .end_us = 1'000'000, .segment_class = "run", .job = job, .epoch = 1};
  world.pass(1'000);
  must(world.renew(held, {.step = 30, .segments = {idle, run, rest}}));
  must(world.commit(held, "set-20", 20, 900'000));
  must(world.release(held));
  const Json report = fleet(world);
  EXPECT_EQ(report.at("steps"), 20);
  EXPECT_EQ(report.at("interruptions"), 1);
  EXPECT_NEAR(report.at("interruption_usd").get<double>(), 0.1, 1e-9);
  EXPECT_NEAR(report.at("gpu_utilisation").get<double>(), 0.8, 1e-9);
  const Json& pool = report.at("pools").at(0);
  EXPECT_EQ(pool.at("name"), "gold");
  EXPECT_NEAR(pool.at("usd_per_step").get<double>(), pool.at("usd").get<double>() / 20, 1e-12);
  EXPECT_GE(pool.at("usd").get<double>(), 1.0);
  const Json& owner = report.at("owners").at(0);
  EXPECT_NEAR(owner.at("usd").get<double>(), 0.4, 1e-9);
  EXPECT_NEAR(report_of(world, job).at("gpu_utilisation").get<double>(), 0.8, 1e-9);
}

TEST(ReportTest, WithoutGpusTheirUseIsNotKnown) {
  World world;
  EXPECT_TRUE(fleet(world).at("gpu_utilisation").is_null());
  EXPECT_TRUE(report_of(world, world.submit()).at("gpu_utilisation").is_null());
}

}  // namespace
}  // namespace loam::jobs
