// SPDX-License-Identifier: Apache-2.0
#include "agent/progress.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "agent/process_testing.h"

namespace loam::agent::testing {
namespace {

std::vector<std::int64_t> steps_in(const std::string& pattern,
                                   const std::vector<std::string>& pieces) {
  std::vector<std::int64_t> out;
  StepMatcher matcher = StepMatcher::create(pattern).value();
  const auto on_step = [&](std::int64_t step) { out.push_back(step); };
  for (const std::string& piece : pieces)
    matcher.feed(piece, on_step);
  matcher.finish(on_step);
  return out;
}

using Steps = std::vector<std::int64_t>;

TEST(StepMatcher, MatchesWholeLinesHoweverTheyAreCut) {
  EXPECT_EQ(steps_in("step (\\d+)", {"step 1\nst", "ep 2", "3\nx step 4 y"}), (Steps{1, 23, 4}));
  EXPECT_EQ(steps_in("^step (\\d+)$", {"step 1\r step 2\rstep 3\r\n"}), (Steps{1, 3}));
  EXPECT_EQ(steps_in("(\\d+)/\\d+ \\[", {"\r 10%|#| 10/100 [00:01", "\r 11%|#| 11/100 ["}),
            (Steps{10, 11}));
  EXPECT_EQ(steps_in("", {"step 1\n"}), Steps{});
}

TEST(StepMatcher, IgnoresWhatIsNoNumber) {
  EXPECT_EQ(steps_in("step (\\S+)", {"step one\nstep 99999999999999999999\nstep -3\nstep 1.5\n"}),
            Steps{-3});
}

TEST(StepMatcher, SurvivesBinaryAndEndlessLines) {
  const std::string blob(3'000'000, '\xff');
  EXPECT_EQ(steps_in("step (\\d+)", {"step 1 " + blob, blob, "step 2\nstep 3\n", blob}),
            (Steps{1, 3}));
  EXPECT_EQ(steps_in("step (\\d+)", {std::string("\0\0step 5\0\n", 10)}), Steps{5});
}

TEST(StepMatcher, SaysWhatIsWrongWithAPattern) {
  EXPECT_EQ(StepMatcher::create("(").error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(StepMatcher::create("step \\d+").error().message.find("group"), std::string::npos);
}

TEST(ProgressFormat, TakesAnObjectOrANumber) {
  EXPECT_EQ(parse_progress("12\n")->step, 12);
  EXPECT_EQ(parse_progress(" 12.0 ")->step, 12);
  const auto report = parse_progress(
      R"({"step": 7, "data_wait_seconds": 0.5, "checkpoint_seconds": 2, "loss": [1]})");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->step, 7);
  EXPECT_EQ(report->data_wait_us, 500'000);
  EXPECT_EQ(report->checkpoint_us, 2'000'000);
  EXPECT_EQ(parse_progress(R"({"data_wait_seconds": "x"})")->data_wait_us, 0);
  for (const char* bad : {"", "{\"step\": 1", "x", "[1]", "1.5", "\"1\"", "1e300"}) {
    EXPECT_FALSE(parse_progress(bad)) << bad;
  }
}

TEST(ProgressFile, ReportsEachContentOnceAndNeverBlocks) {
  const io::TempDirectory directory;
  const std::string path = directory / "progress";
  ProgressFile file(path);
  EXPECT_FALSE(file.poll());
  std::ofstream(path) << "3";
  EXPECT_EQ(file.poll()->step, 3);
  EXPECT_FALSE(file.poll());
  std::ofstream(path) << "4";
  EXPECT_EQ(file.poll()->step, 4);
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(file.poll());
}

TEST(ProgressReporter, SendsTheFirstAtOnceAndGathersTheRest) {
  ProgressReporter reporter;
  EXPECT_FALSE(reporter.due_us());
  reporter.add_step(1, 1'000'000);
  EXPECT_LE(reporter.due_us().value(), 1'000'000);
  EXPECT_EQ(reporter.pending(1'000'000).steps.size(), 1U);
  reporter.sent(1'000'000);
  reporter.add_step(1, 1'001'000);
  EXPECT_FALSE(reporter.due_us());
  for (int step = 2; step < 1'000; ++step)
    reporter.add_step(step, 1'000'000 + step);
  EXPECT_EQ(reporter.due_us().value(), 1'050'000);
  const ProgressEvent event = reporter.pending(1'050'000);
  EXPECT_EQ(event.step, 999);
  ASSERT_EQ(event.steps.size(), kMaxStepsPerEvent);
  EXPECT_EQ(event.steps.front().step, 2);
  EXPECT_EQ(event.steps.back().step, 999);
  EXPECT_EQ(event.steps.back().boot_us, 1'000'999);
  // As JSON it fits into a message, and comes back.
  const Json json = to_json(ProcessEvent(event));
  EXPECT_LT(dump_json(json).size(), 64U * 1024);
  const auto back = std::get<ProgressEvent>(process_event_from_json(json).value());
  EXPECT_EQ(back.steps.back().boot_us, 1'000'999);
}

TEST(ProgressReporter, ReportsTimesWithoutAStep) {
  ProgressReporter reporter;
  reporter.add_report({.step = 5, .data_wait_us = 10}, 100);
  reporter.sent(100);
  reporter.add_report({.step = 5, .data_wait_us = 10}, 200);
  EXPECT_FALSE(reporter.due_us());
  reporter.add_report({.step = 5, .data_wait_us = 30}, 300);
  ASSERT_TRUE(reporter.due_us());
  EXPECT_TRUE(reporter.pending(300).steps.empty());
  EXPECT_EQ(reporter.pending(300).data_wait_us, 30);
}

TEST(ProgressEvents, ComeFromThePattern) {
  const io::TempDirectory directory;
  ProcessSpec spec =
      shell_spec(directory.path(),
                 "for i in 1 2 3 4 5; do echo \"step $i\"; done; sleep 0.3; printf 'step 6'");
  spec.progress_pattern = "step (\\d+)";
  const auto process = start_or_die(spec);
  const auto events = only<ProgressEvent>(run_to_end(*process));
  Steps steps;
  std::int64_t last_us = 0;
  for (const ProgressEvent& event : events) {
    for (const StepMark& mark : event.steps) {
      steps.push_back(mark.step);
      EXPECT_GE(mark.boot_us, last_us);
      last_us = mark.boot_us;
    }
  }
  EXPECT_EQ(steps, (Steps{1, 2, 3, 4, 5, 6}));
}

TEST(ProgressEvents, ComeFromTheFile) {
  const io::TempDirectory directory;
  ProcessSpec spec = shell_spec(
      directory.path(),
      "echo 1 > $LOAM_PROGRESS; sleep 0.4; echo '{\"step\": 2, \"checkpoint_seconds\": 1.5}' > "
      "$LOAM_PROGRESS.tmp; mv $LOAM_PROGRESS.tmp $LOAM_PROGRESS");
  spec.progress_file = directory / "progress";
  spec.environment["LOAM_PROGRESS"] = spec.progress_file;
  const auto process = start_or_die(spec);
  const auto events = only<ProgressEvent>(run_to_end(*process));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].step, 1);
  EXPECT_EQ(events[1].step, 2);
  EXPECT_EQ(events[1].checkpoint_us, 1'500'000);
}

}  // namespace
}  // namespace loam::agent::testing
