// SPDX-License-Identifier: Apache-2.0
// What people read: events, checkpoints and reports.
#include <gmock/gmock.h>

#include "loam/checkpoint_table.h"
#include "loam/event_text.h"
#include "loam/exit_code.h"
#include "loam/job_watch.h"
#include "loam/report_text.h"

namespace loam::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text(Json event) {
  return event_text(event, [](const std::string& id) { return "name-of-" + id; });
}

TEST(EventTextTest, SaysWhatHappened) {
  EXPECT_EQ(text({{"type", "job.claimed"}, {"node", "n-1"}, {"data", {{"epoch", 2}}}}),
            "attempt 2 starts on name-of-n-1");
  EXPECT_EQ(
      text({{"type", "job.resumed"}, {"node", "n-1"}, {"data", {{"step", 50}, {"set", "c"}}}}),
      "resumed at step 50 on name-of-n-1");
  EXPECT_EQ(text({{"type", "checkpoint.committed"},
                  {"data", {{"step", 50}, {"files", 3}, {"bytes", 2048}}}}),
            "checkpoint of step 50 is safe (3 files, 2.0 KiB)");
  EXPECT_THAT(text({{"type", "lease.expired"}, {"node", "n-1"}}),
              HasSubstr("interrupted: name-of-n-1"));
  EXPECT_THAT(text({{"type", "attempt.failed"},
                    {"data", {{"cause", "program"}, {"message", "exit \x1b[2J"}}}}),
              Not(HasSubstr("\x1b")));
  EXPECT_EQ(text({{"type", "new.kind"}, {"data", {{"x", 1}}}}), R"(new.kind {"x":1})");
  EXPECT_EQ(text(Json::object()), "");
}

TEST(EventTextTest, ALineBeginsWithTheTime) {
  const Json event{{"type", "job.completed"}, {"at", "2026-11-30T15:30:01.5Z"}};
  EXPECT_EQ(event_line(
                event, [](const std::string& id) { return id; }, false),
            "15:30:01  completed");
}

TEST(CheckpointTableTest, TheNewestCommittedSetIsTheRecoveryPoint) {
  const Json sets{{{"id", "c-3"}, {"state", "bad"}, {"message", "rotten"}},
                  {{"id", "c-2"}, {"state", "committed"}, {"pinned", true}},
                  {{"id", "c-1"}, {"state", "committed"}}};
  const std::string shown = checkpoint_table(sets).render(false);
  EXPECT_THAT(shown, HasSubstr("recovery point, pinned"));
  EXPECT_THAT(shown, HasSubstr("rotten"));
  EXPECT_EQ(shown.find("recovery point"), shown.rfind("recovery point"));
  EXPECT_TRUE(checkpoint_table(Json::array()).empty());
}

TEST(ReportTextTest, AJobsReport) {
  const Json report{
      {"job", "j-1"},
      {"name", "emoji"},
      {"status", "completed"},
      {"steps", 300},
      {"usd", 0.0123},
      {"usd_per_step", 0.000041},
      {"goodput", 0.875},
      {"attempts", 2},
      {"interruptions", 1},
      {"lost_steps", 12},
      {"median_step_seconds", nullptr},
      {"seconds_total", 100.0},
      {"seconds_by_class", {{"productive", 75.0}, {"lost_work", 25.0}, {"idle", 0}}},
      {"handovers",
       {{{"from", "a"}, {"to", "b"}, {"kind", "lost"}, {"lost_steps", 12}, {"seconds", 3.5}}}},
      {"outputs", {"/users/ann/x"}}};
  const std::string shown = job_report_text(report, false);
  EXPECT_THAT(shown, HasSubstr("$0.012\n"));
  EXPECT_THAT(shown, HasSubstr("87.5%"));
  EXPECT_THAT(shown, HasSubstr("step time         not known yet"));
  EXPECT_THAT(shown, HasSubstr("75.0%"));
  EXPECT_THAT(shown, HasSubstr("1, 12 steps lost"));
  EXPECT_THAT(shown, HasSubstr("3.5 s"));
  EXPECT_THAT(shown, HasSubstr("store:/users/ann/x"));
  EXPECT_THAT(shown, Not(HasSubstr("idle")));
  EXPECT_THAT(job_report_text(Json::object(), false), HasSubstr("No paid time"));
}

TEST(ReportTextTest, TheFleets) {
  const Json pool{{"name", "spot"},
                  {"seconds_total", 10.0},
                  {"usd", 2.5},
                  {"seconds_by_class", {{"productive", 5.0}, {"idle", 5.0}}}};
  const Json report{{"nodes", 3},
                    {"usd", 2.5},
                    {"jobs", {{"completed", 4}}},
                    {"seconds_total", 10.0},
                    {"seconds_by_class", {{"productive", 5.0}, {"idle", 5.0}}},
                    {"pools", {pool}}};
  const std::string shown = fleet_report_text(report, false);
  EXPECT_THAT(shown, HasSubstr("4 completed"));
  EXPECT_THAT(shown, HasSubstr("POOL"));
  EXPECT_THAT(shown, HasSubstr("$2.50"));
  EXPECT_THAT(shown, Not(HasSubstr("OWNER")));
}

TEST(ExitCodeTest, TellAScriptHowItEnded) {
  EXPECT_EQ(exit_code_of_job({{"status", "completed"}}), 0);
  EXPECT_EQ(exit_code_of_job({{"status", "failed"}}), 1);
  EXPECT_EQ(exit_code_of_job({{"status", "canceled"}}), 3);
  EXPECT_EQ(exit_code_of(ErrorCode::kInvalidArgument), 2);
  EXPECT_EQ(exit_code_of(ErrorCode::kUnavailable), 4);
  EXPECT_EQ(exit_code_of(ErrorCode::kNotFound), 1);
}

}  // namespace
}  // namespace loam::cli
