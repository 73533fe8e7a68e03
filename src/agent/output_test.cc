// SPDX-License-Identifier: Apache-2.0
//
// A program's output on its way through the watchdog.
#include <gtest/gtest.h>
#include <signal.h>

#include "agent/process_testing.h"

namespace loam::agent::testing {
namespace {

TEST(Output, AFloodDoesNotBlockTheProgramAndLeavesAGap) {
  const io::TempDirectory directory;
  ProcessSpec spec =
      shell_spec(directory.path(),
                 "head -c 200000000 /dev/zero | tr '\\0' 'x' | fold -w 100; echo; echo step 9");
  spec.progress_pattern = "step (\\d+)";
  spec.log_limits = {.bytes_per_second = 100'000, .burst_bytes = 200'000, .total_bytes = 1'000'000};
  const auto process = start_or_die(spec);
  const auto events = run_to_end(*process, milliseconds(60'000));
  EXPECT_EQ(exit_of(events).code, 0);
  // Steps count also where the output itself is dropped.
  ASSERT_FALSE(only<ProgressEvent>(events).empty());
  EXPECT_EQ(only<ProgressEvent>(events).back().step, 9);
  std::int64_t reported = 0;
  for (const OutputGapEvent& gap : only<OutputGapEvent>(events))
    reported += gap.bytes;

  LogSpoolReader reader = LogSpoolReader::open(directory.path()).value();
  std::int64_t kept = 0;
  std::int64_t dropped = 0;
  for (bool last = false; !last;) {
    const LogChunk chunk = reader.next().value().value();
    kept += static_cast<std::int64_t>(chunk.text.size());
    dropped += chunk.gap_before;
    last = chunk.last;
  }
  // 200,000,000 bytes, a newline after each hundred but the last, and the two lines at the end.
  EXPECT_EQ(kept + dropped, 200'000'000 + 1'999'999 + 1 + 7);
  EXPECT_LE(kept, 1'000'000);
  EXPECT_GE(kept, 190'000);
  EXPECT_EQ(reported, dropped);
}

TEST(Output, BinaryAndVeryLongLinesPassUnchanged) {
  const io::TempDirectory directory;
  ProcessSpec spec = shell_spec(
      directory.path(), "head -c 500000 /dev/zero; printf '\\377\\376\\000end'; echo; echo step 3");
  spec.progress_pattern = "^step (\\d+)";
  const auto process = start_or_die(spec);
  const auto events = run_to_end(*process);
  EXPECT_EQ(exit_of(events).code, 0);
  const std::string wanted =
      std::string(500'000, '\0') + std::string("\xff\xfe\0end\nstep 3\n", 14);
  EXPECT_TRUE(spooled(directory.path()) == wanted);
  EXPECT_EQ(only<ProgressEvent>(events).back().step, 3);
}

TEST(Output, WhatIsWrittenBeforeTheEndIsKept) {
  const io::TempDirectory directory;
  const auto process =
      start_or_die(shell_spec(directory.path(), "head -c 900000 /dev/zero; kill -KILL $$"));
  EXPECT_EQ(exit_of(run_to_end(*process)).signal, SIGKILL);
  EXPECT_EQ(spooled(directory.path()).size(), 900'000U);
}

TEST(Output, AProgramThatClosesItsOutputGoesOn) {
  const io::TempDirectory directory;
  const auto process = start_or_die(
      shell_spec(directory.path(), "echo bye; exec >/dev/null 2>&1; sleep 0.3; exit 6"));
  EXPECT_EQ(exit_of(run_to_end(*process)).code, 6);
  EXPECT_EQ(spooled(directory.path()), "bye\n");
}

TEST(Output, ASilentAgentLosesNoEnd) {
  const io::TempDirectory directory;
  ProcessSpec spec = shell_spec(
      directory.path(), "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); echo step $i; done; exit 2");
  spec.progress_pattern = "step (\\d+)";
  const auto process = start_or_die(spec);
  // More events than the socket holds would come if they were sent regardless.
  ASSERT_TRUE(wait_until(
      [&] {
        return kill(process->watchdog_pid(), 0) != 0 ||
               read_process(process->watchdog_pid())->is_dead();
      },
      milliseconds(60'000)));
  const auto events = run_to_end(*process);
  EXPECT_EQ(exit_of(events).code, 2);
  ASSERT_FALSE(only<ProgressEvent>(events).empty());
}

}  // namespace
}  // namespace loam::agent::testing
