// SPDX-License-Identifier: Apache-2.0
#include "jobs/ledger.h"

#include <gtest/gtest.h>

#include "jobs/jobs_testing.h"

namespace loam::jobs {
namespace {

using testing::code_of;
using testing::Held;
using testing::must;
using testing::World;

// A node whose timeline begins at 0 and is long past all that these tests report.
class LedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    node_ = world_.enrol({.slots = 2});
    job_ = world_.submit();
    held_ = world_.claim(node_);
  }

  Segment run(std::int64_t start, std::int64_t end, std::optional<std::int64_t> to = std::nullopt) {
    return {.start_us = start,
            .end_us = end,
            .segment_class = "run",
            .job = job_,
            .epoch = held_.claimed.epoch,
            .step_to = to};
  }
  Status record(const std::vector<Segment>& segments, std::int64_t now_us = 1'000'000) {
    return world_.write(
        [&](Operation& op) { return record_segments(op, node_, now_us, segments); });
  }
  // "start-end class, …" of slot 0.
  std::string recorded() {
    std::string out;
    for (const db::Row& row : world_.rows(
             "SELECT start_us, end_us, class FROM segment WHERE slot = 0 ORDER BY start_us")) {
      out += (out.empty() ? "" : ", ") + std::to_string(row.integer(0)) + "-" +
             std::to_string(row.integer(1)) + " " + row.text(2);
    }
    return out;
  }

  World world_;
  std::string node_;
  std::string job_;
  Held held_;
};

TEST_F(LedgerTest, ASegmentGrowsAndNeverShrinks) {
  must(record({run(0, 10)}));
  must(record({run(0, 30)}));
  must(record({run(0, 20)}));
  EXPECT_EQ(recorded(), "0-30 run");
}

TEST_F(LedgerTest, OverlapsAreLeftOutAndCostNothingElse) {
  must(record({run(10, 20), run(15, 30), run(5, 11), run(0, 100), run(20, 30), run(0, 10)}));
  EXPECT_EQ(recorded(), "0-10 run, 10-20 run, 20-30 run");
  // Neither may a segment grow into the next.
  must(record({run(0, 12)}));
  EXPECT_EQ(recorded(), "0-10 run, 10-20 run, 20-30 run");
}

TEST_F(LedgerTest, SlotsDoNotTouchOneAnother) {
  Segment other{.slot = 1, .start_us = 5, .end_us = 15, .segment_class = "idle"};
  must(record({run(0, 10), other}));
  EXPECT_EQ(world_.number("SELECT count(*) FROM segment"), 2);
}

TEST_F(LedgerTest, ASlotThatTheNodeDoesNotHaveIsLeftOut) {
  for (const std::int64_t slot : {std::int64_t{2}, std::int64_t{-1}, INT64_MAX}) {
    Segment strange = run(0, 10);
    strange.slot = slot;
    must(record({strange}));
  }
  EXPECT_EQ(world_.number("SELECT count(*) FROM segment"), 0);
}

TEST_F(LedgerTest, ASegmentDoesNotPassToAnotherAttempt) {
  must(record({run(0, 10)}));
  must(world_.release(held_));
  held_ = world_.claim(node_);
  must(record({run(0, 20)}));
  must(record({{.start_us = 0, .end_us = 30, .segment_class = "idle"}}));
  EXPECT_EQ(recorded(), "0-10 lost_work");
  EXPECT_EQ(world_.number("SELECT epoch FROM segment"), 1);
  must(record({run(10, 20)}));
  EXPECT_EQ(recorded(), "0-10 lost_work, 10-20 run");
}

TEST_F(LedgerTest, TheFutureIsRefused) {
  EXPECT_EQ(code_of(record({run(0, 11)}, 10)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(recorded(), "");
}

TEST_F(LedgerTest, OnlyAttemptsOfThisNodeCount) {
  Segment strange = run(0, 10);
  strange.job = "j-none";
  Segment later = run(10, 20);
  later.epoch = 2;
  must(record({strange, later}));
  EXPECT_EQ(recorded(), "");
}

TEST_F(LedgerTest, ACommittedSetMakesWorkProductive) {
  must(record({run(0, 10, 1), run(10, 20, 2), run(20, 30, 3)}));
  must(world_.commit(held_, "set-1", 2, 20));
  EXPECT_EQ(recorded(), "0-10 productive, 10-20 productive, 20-30 run");
  // An older position changes nothing.
  must(world_.commit(held_, "set-2", 3, 10));
  EXPECT_EQ(recorded(), "0-10 productive, 10-20 productive, 20-30 run");
  // What is reported late falls where it belongs.
  must(record({run(30, 40)}));
  must(world_.commit(held_, "set-3", 4, 50));
  must(record({run(40, 50)}));
  EXPECT_EQ(recorded(),
            "0-10 productive, 10-20 productive, 20-30 productive, 30-40 productive, "
            "40-50 productive");
}

TEST_F(LedgerTest, CompletionCoversEverything) {
  must(record({run(0, 10), run(10, 20)}));
  must(world_.complete(held_));
  must(record({run(20, 30)}));
  EXPECT_EQ(recorded(), "0-10 productive, 10-20 productive, 20-30 productive");
}

TEST_F(LedgerTest, ALossTakesWhatNoSetCovers) {
  must(record({run(0, 10), run(10, 20)}));
  must(world_.commit(held_, "set-1", 1, 10));
  must(world_.fail(held_));
  must(record({run(20, 30)}));
  EXPECT_EQ(recorded(), "0-10 productive, 10-20 lost_work, 20-30 lost_work");
}

TEST_F(LedgerTest, OnlyRunningTimeIsProvisional) {
  Segment startup = run(0, 10);
  startup.segment_class = "startup";
  Segment draining = run(20, 30);
  draining.segment_class = "draining";
  must(record({startup, run(10, 20), draining}));
  must(world_.release(held_));
  EXPECT_EQ(recorded(), "0-10 startup, 10-20 lost_work, 20-30 draining");
}

TEST_F(LedgerTest, FallingBackLosesWhatABadSetCovered) {
  must(record({run(0, 10, 5), run(10, 20, 10)}));
  must(world_.commit(held_, "set-5", 5, 10));
  must(world_.commit(held_, "set-10", 10, 20));
  must(world_.release(held_));
  const Held next = world_.claim(node_);
  must(world_.renew(next, {.resumed_step = 5, .resumed_set = "set-5"}));
  EXPECT_EQ(recorded(), "0-10 productive, 10-20 lost_work");
  // Only the first word on where it resumed counts.
  must(world_.renew(next, {.resumed_step = 0}));
  EXPECT_EQ(recorded(), "0-10 productive, 10-20 lost_work");
}

TEST(SegmentTest, RefusesWhatDoesNotAddUp) {
  const Json good{{"slot", 0},
                  {"start_us", 10},
                  {"end_us", 20},
                  {"class", "run"},
                  {"job", "j-1"},
                  {"epoch", 1},
                  {"step_from", 1},
                  {"step_to", nullptr},
                  {"data_wait_us", 4},
                  {"checkpoint_us", 6},
                  {"steps", {{80, 2, 2'000}}}};
  const auto with = [&](const char* key, const Json& value) {
    Json one = good;
    one[key] = value;
    return parse_segments(Json::array({one}));
  };
  const auto parsed = must(with("slot", 1));
  EXPECT_EQ(parsed.at(0).slot, 1);
  EXPECT_EQ(parsed.at(0).step_from, 1);
  EXPECT_FALSE(parsed.at(0).step_to);
  EXPECT_EQ(parsed.at(0).steps.count(), 2);
  EXPECT_TRUE(must(parse_segments(Json())).empty());
  EXPECT_FALSE(with("start_us", -1));
  EXPECT_FALSE(with("start_us", 21));
  EXPECT_FALSE(with("end_us", INT64_MAX));
  EXPECT_FALSE(with("data_wait_us", 5));
  EXPECT_FALSE(with("checkpoint_us", -1));
  EXPECT_FALSE(with("class", "productive"));
  EXPECT_FALSE(with("class", "idle"));
  EXPECT_FALSE(with("job", ""));
  EXPECT_FALSE(with("steps", "many"));
  EXPECT_FALSE(parse_segments(Json::object()));
  EXPECT_FALSE(parse_segments(Json::array({3})));
  EXPECT_FALSE(parse_segments(Json(std::vector<Json>(kMaxSegmentsPerCall + 1, good))));
}

}  // namespace
}  // namespace loam::jobs
