// SPDX-License-Identifier: Apache-2.0
#include "agent/timeline.h"

#include <gtest/gtest.h>

namespace loam::agent {
namespace {

class TimelineTest : public ::testing::Test {
 protected:
  void pass(std::int64_t us) { clock_.advance(std::chrono::microseconds(us)); }
  // "slot:start-end class" of all that is reported.
  static std::string text(const Timeline::Report& report) {
    std::string out;
    for (const Json& one : report.segments) {
      out += (out.empty() ? "" : ", ") + one.at("slot").dump() + ":" + one.at("start_us").dump() +
             "-" + one.at("end_us").dump() + " " + one.at("class").get<std::string>();
    }
    return out;
  }

  ManualClock clock_;
  Timeline timeline_{clock_, 2};
};

TEST_F(TimelineTest, SegmentsHaveNoGapsAndAreKeptUntilAcknowledged) {
  pass(10);
  timeline_.begin(0, "startup", "j", 1);
  pass(5);
  timeline_.start_run(0, 7);
  pass(20);
  const auto report = timeline_.report(0);
  EXPECT_EQ(text(report), "0:0-10 idle, 0:10-15 startup, 0:15-35 run");
  EXPECT_EQ(text(timeline_.report(0)), text(report));
  timeline_.acknowledge(report);
  pass(1);
  EXPECT_EQ(text(timeline_.report(0)), "0:15-36 run");
}

TEST_F(TimelineTest, ItIsKnownUpToTheSlotThatWasToldLeast) {
  pass(100);
  timeline_.acknowledge(timeline_.report(0));
  EXPECT_EQ(timeline_.acknowledged_us(), 0);
  pass(50);
  timeline_.acknowledge(timeline_.report(1));
  EXPECT_EQ(timeline_.acknowledged_us(), 100);
  const auto early = timeline_.report();
  pass(50);
  timeline_.acknowledge(timeline_.report());
  EXPECT_EQ(timeline_.acknowledged_us(), 200);
  timeline_.acknowledge(early);
  EXPECT_EQ(timeline_.acknowledged_us(), 200);
}

TEST_F(TimelineTest, ASlotWithTooMuchToTellIsNotToldWhole) {
  for (int i = 0; i < 201; ++i) {
    pass(1);
    timeline_.cut(0);
  }
  const auto first = timeline_.report(0);
  EXPECT_EQ(first.segments.size(), 200U);
  timeline_.acknowledge(timeline_.report(1));
  timeline_.acknowledge(first);
  EXPECT_EQ(timeline_.acknowledged_us(), 0);
  timeline_.acknowledge(timeline_.report(0));
  EXPECT_EQ(timeline_.acknowledged_us(), 201);
}

TEST_F(TimelineTest, TheUseOfGpusNeverExceedsTheTime) {
  pass(100);
  EXPECT_FALSE(timeline_.report(0).segments.at(0).contains("gpu_busy_us"));
  timeline_.add_gpu_use(0, 70);
  timeline_.add_gpu_use(0, 20);
  EXPECT_EQ(timeline_.report(0).segments.at(0).at("gpu_busy_us"), 90);
  timeline_.add_gpu_use(0, 500);
  EXPECT_EQ(timeline_.report(0).segments.at(0).at("gpu_busy_us"), 100);
  timeline_.cut(0);
  timeline_.add_gpu_use(0, 30);
  const auto report = timeline_.report(0);
  EXPECT_EQ(report.segments.size(), 1U);
  EXPECT_EQ(report.segments.at(0).at("gpu_busy_us"), 100);
}

}  // namespace
}  // namespace loam::agent
