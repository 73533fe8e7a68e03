// SPDX-License-Identifier: Apache-2.0
#include "agent/supervised.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "agent/process_testing.h"

namespace loam::agent::testing {
namespace {

class SupervisedTest : public ::testing::Test {
 protected:
  io::TempDirectory directory_;
  const std::string& path() const { return directory_.path(); }
};

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr)
    ++count;
  closedir(directory);
  return count;
}

TEST_F(SupervisedTest, ReportsStartAndExitCode) {
  const auto process = start_or_die(shell_spec(path(), "echo hello; echo oops >&2; exit 7"));
  const auto events = run_to_end(*process);
  ASSERT_EQ(only<StartedEvent>(events).size(), 1U);
  EXPECT_GT(only<StartedEvent>(events)[0].pid, 0);
  const ExitedEvent exited = exit_of(events);
  EXPECT_EQ(exited.code, 7);
  EXPECT_EQ(exited.signal, std::nullopt);
  EXPECT_EQ(exited.reason, "");
  EXPECT_EQ(exited.leftover, 0);
  EXPECT_EQ(spooled(path()), "hello\noops\n");
  EXPECT_FALSE(process->next_event(milliseconds(0)).value().has_value());
}

TEST_F(SupervisedTest, ReportsTheSignalThatEndedTheProgram) {
  const auto process = start_or_die(shell_spec(path(), "kill -SEGV $$"));
  const ExitedEvent exited = exit_of(run_to_end(*process));
  EXPECT_EQ(exited.signal, SIGSEGV);
  EXPECT_EQ(exited.code, std::nullopt);
}

TEST_F(SupervisedTest, AFailedExecIsNoExit) {
  ProcessSpec spec = shell_spec(path(), "");
  spec.command = "no-such-program";
  const auto process = start_or_die(spec);
  const auto events = run_to_end(*process);
  ASSERT_EQ(events.size(), 1U);
  const auto failed = only<StartFailedEvent>(events);
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].error_number, ENOENT);
  EXPECT_NE(failed[0].message.find("no-such-program"), std::string::npos);
  EXPECT_NE(failed[0].message.find("No such file"), std::string::npos);
}

TEST_F(SupervisedTest, AMissingWorkDirectoryIsAFailedStart) {
  ProcessSpec spec = shell_spec(path(), "true");
  spec.work_dir = path() + "/nowhere";
  const auto process = start_or_die(spec);
  const auto failed = only<StartFailedEvent>(run_to_end(*process));
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_NE(failed[0].message.find("work directory"), std::string::npos);
}

TEST_F(SupervisedTest, AMissingSpoolDirectoryIsAFailedStart) {
  ProcessSpec spec = shell_spec(path(), "true");
  spec.spool_dir = path() + "/nowhere";
  const auto process = start_or_die(spec);
  EXPECT_EQ(only<StartFailedEvent>(run_to_end(*process)).size(), 1U);
}

TEST_F(SupervisedTest, RefusesWhatCanNeverWork) {
  const auto code_of = [&](const std::function<void(ProcessSpec&)>& change) {
    ProcessSpec spec = shell_spec(path(), "true");
    change(spec);
    const auto process = SupervisedProcess::start(spec, test_watchdog());
    return process ? ErrorCode::kInternal : process.error().code;
  };
  EXPECT_EQ(code_of([](ProcessSpec& s) { s.command = ""; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([](ProcessSpec& s) { s.work_dir = "x"; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([](ProcessSpec& s) { s.progress_pattern = "("; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([](ProcessSpec& s) { s.progress_pattern = "x"; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([](ProcessSpec& s) { s.environment["A=B"] = ""; }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([](ProcessSpec& s) { s.arguments.push_back("\xff"); }),
            ErrorCode::kInvalidArgument);
}

TEST_F(SupervisedTest, LooksACommandUpInTheWorkDirectoryAndInPath) {
  std::ofstream(path() + "/mine.sh") << "#!/bin/sh\necho mine $1\n";
  ASSERT_EQ(chmod((path() + "/mine.sh").c_str(), 0755), 0);
  ProcessSpec spec = shell_spec(path(), "");
  spec.command = "./mine.sh";
  spec.arguments = {"a b"};
  EXPECT_EQ(exit_of(run_to_end(*start_or_die(spec))).code, 0);
  EXPECT_EQ(spooled(path()), "mine a b\n");

  io::TempDirectory second;
  spec.command = "mine.sh";
  spec.environment["PATH"] = path();
  spec.spool_dir = second.path();
  EXPECT_EQ(exit_of(run_to_end(*start_or_die(spec))).code, 0);
}

TEST_F(SupervisedTest, TheProgramGetsNothingButWhatWasOrdered) {
  ASSERT_EQ(setenv("LOAM_TEST_SECRET", "leaked", 1), 0);
  ProcessSpec spec = shell_spec(path(),
                                "env; ls -l /proc/$$/fd; readlink /proc/$$/cwd; read x || echo eof;"
                                "exec grep -E 'SigBlk|SigIgn' /proc/self/status");
  spec.environment["GIVEN"] = "yes";
  EXPECT_EQ(exit_of(run_to_end(*start_or_die(spec))).code, 0);
  const std::string output = spooled(path());
  EXPECT_NE(output.find("GIVEN=yes"), std::string::npos) << output;
  EXPECT_EQ(output.find("leaked"), std::string::npos) << output;
  EXPECT_NE(output.find(path() + "\n"), std::string::npos) << output;
  EXPECT_NE(output.find(" 2 -> pipe"), std::string::npos) << output;
  EXPECT_EQ(output.find(" 3 -> "), std::string::npos) << output;
  EXPECT_NE(output.find("eof\n"), std::string::npos) << output;
  EXPECT_NE(output.find("SigBlk:\t0000000000000000"), std::string::npos) << output;
  EXPECT_NE(output.find("SigIgn:\t0000000000000000"), std::string::npos) << output;
}

TEST_F(SupervisedTest, RunsAsAnotherUser) {
  if (getuid() != 0) GTEST_SKIP() << "only root may become somebody else";
  ProcessSpec spec = shell_spec(path(), "id -u; id -g; id -G; sleep 60");
  spec.work_dir = "/";
  spec.uid = 65'534;
  spec.gid = 65'533;
  const auto process = start_or_die(spec);
  ASSERT_TRUE(wait_until([&] { return spooled(path()) == "65534\n65533\n65533\n"; }));
  // The tie to its parent survives the change of user, which clears it.
  ASSERT_EQ(kill(process->watchdog_pid(), SIGKILL), 0);
  EXPECT_EQ(exit_of(run_to_end(*process, milliseconds(3'000))).reason, kReasonWatchdogDied);
}

TEST_F(SupervisedTest, ABigEnvironmentArrives) {
  ProcessSpec spec = shell_spec(path(), "printf '%s' \"$V0$V7\" | wc -c");
  for (int i = 0; i < 8; ++i) {
    spec.environment["V" + std::to_string(i)] = std::string(100'000, static_cast<char>('a' + i));
  }
  EXPECT_EQ(exit_of(run_to_end(*start_or_die(spec))).code, 0);
  EXPECT_EQ(spooled(path()), "200000\n");
}

TEST_F(SupervisedTest, AnEnvironmentBeyondTheKernelsLimitIsAFailedStart) {
  ProcessSpec spec = shell_spec(path(), "true");
  spec.environment["HUGE"] = std::string(1'000'000, 'x');
  const auto failed = only<StartFailedEvent>(run_to_end(*start_or_die(spec)));
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].error_number, E2BIG);
}

TEST_F(SupervisedTest, TerminateLetsTheProgramSave) {
  const auto process = start_or_die(
      shell_spec(path(),
                 "trap 'echo saving; sleep 0.2; echo saved; exit 3' TERM; echo ready; while :; do "
                 "sleep 0.05; done"));
  ASSERT_TRUE(wait_until([&] { return spooled(path()).find("ready") != std::string::npos; }));
  process->terminate(milliseconds(5'000), "drain");
  const ExitedEvent exited = exit_of(run_to_end(*process));
  EXPECT_EQ(exited.code, 3);
  EXPECT_EQ(exited.reason, "drain");
  EXPECT_NE(spooled(path()).find("saving\nsaved\n"), std::string::npos);
}

TEST_F(SupervisedTest, KillEndsAProgramThatIgnoresEverything) {
  const auto process = start_or_die(
      shell_spec(path(), "trap '' TERM INT HUP; echo $$ >> pids; while :; do sleep 1; done"));
  ASSERT_TRUE(wait_until([&] { return pids_in(path()).size() == 1; }));
  process->kill();
  const ExitedEvent exited = exit_of(run_to_end(*process, milliseconds(3'000)));
  EXPECT_EQ(exited.signal, SIGKILL);
  EXPECT_EQ(exited.reason, kReasonKilled);
  EXPECT_TRUE(all_gone(pids_in(path())));
}

TEST_F(SupervisedTest, TheDestructorKills) {
  auto process = start_or_die(
      shell_spec(path(),
                 "trap '' TERM; echo $$ >> pids; setsid sh -c 'trap \"\" TERM; echo $$ >> "
                 "pids; sleep 100; sleep 100' & while :; do sleep 1; done"));
  ASSERT_TRUE(wait_until([&] { return pids_in(path()).size() == 2; }));
  process.reset();
  EXPECT_TRUE(all_gone(pids_in(path())));
}

TEST_F(SupervisedTest, ManyQuickStartsLeaveNothingBehind) {
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    io::TempDirectory directory;
    const auto process = start_or_die(shell_spec(directory.path(), "exit 5"));
    ASSERT_NE(process, nullptr);
    // Half of them are destroyed without anybody listening.
    if (i % 2 == 0) {
      ASSERT_EQ(exit_of(run_to_end(*process)).code, 5);
    }
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace loam::agent::testing
