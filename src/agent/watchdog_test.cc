// SPDX-License-Identifier: Apache-2.0
//
// The guarantee: nothing of an attempt outlives its agent, its deadline, its watchdog or itself.
#include "agent/watchdog.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>

#include "agent/process_testing.h"

namespace loam::agent::testing {
namespace {

// Four processes that ignore SIGTERM: the program, a child of it, one in a session of its own, and
// a daemon whose parents are gone.
constexpr const char* kStubborn =
    "trap '' TERM HUP INT; export LOOP='trap \"\" TERM HUP INT; echo $$ >> pids; while :; do sleep "
    "1; done'; sh -c \"$LOOP\" & setsid sh -c \"$LOOP\" & (setsid sh -c '(setsid sh -c \"$LOOP\" "
    "&)' &); echo $$ >> pids; while :; do sleep 1; done";
constexpr std::size_t kStubbornProcesses = 4;
constexpr milliseconds kGrace{500};
// The promise is the grace and one second.
constexpr milliseconds kSlack{1'000};

class WatchdogTest : public ::testing::TestWithParam<bool> {
 protected:
  void TearDown() override {
    // Watchdogs of killed agents have become children of the test.
    while (waitpid(-1, nullptr, WNOHANG) > 0)
      continue;
  }

  const std::string& path() const { return directory_.path(); }

  ProcessSpec stubborn_spec() const {
    ProcessSpec spec = shell_spec(path(), kStubborn);
    spec.grace = kGrace;
    spec.use_cgroup = GetParam();
    return spec;
  }

  bool all_started() const { return pids_in(path()).size() == kStubbornProcesses; }

  // Another process with the role of an agent, so that it can be killed.
  pid_t start_agent(milliseconds ttl) {
    std::ofstream(path() + "/script") << kStubborn << "\n";
    const std::string grace = std::to_string(kGrace.count());
    const std::string life = std::to_string(ttl.count());
    const char* arguments[] = {"agent_test",  "--agent",    path().c_str(),
                               grace.c_str(), life.c_str(), nullptr};
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr,
                          const_cast<char* const*>(arguments), environ),
              0);
    EXPECT_TRUE(wait_until([&] { return all_started(); }));
    return pid;
  }

  // Checks that the tree gets its grace, and not more than that.
  void expect_gone_after_grace(milliseconds extra = milliseconds(0)) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(all_gone(pids_in(path())));
    EXPECT_TRUE(wait_until([&] { return all_gone(pids_in(path())); }, kGrace + extra + kSlack));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, kGrace - milliseconds(50));
  }

  io::TempDirectory directory_;
};

TEST_P(WatchdogTest, NothingOutlivesAKilledAgent) {
  const pid_t agent = start_agent(milliseconds(60'000));
  ASSERT_EQ(kill(agent, SIGKILL), 0);
  ASSERT_EQ(waitpid(agent, nullptr, 0), agent);
  expect_gone_after_grace();
  ASSERT_TRUE(wait_until([&] { return waitpid(-1, nullptr, WNOHANG) < 0; }));
  auto reader = LogSpoolReader::open(path()).value();
  EXPECT_TRUE(reader.next().value()->last);
  ASSERT_TRUE(reader.end().has_value());
  EXPECT_EQ((*reader.end())["reason"], kReasonAgentDied);
}

TEST_P(WatchdogTest, NothingOutlivesTheDeadlineOfAFrozenAgent) {
  constexpr milliseconds kTtl{700};
  const pid_t agent = start_agent(kTtl);
  ASSERT_EQ(kill(agent, SIGSTOP), 0);
  expect_gone_after_grace(kTtl);
  // The agent finds out when it goes on.
  ASSERT_EQ(kill(agent, SIGCONT), 0);
  ASSERT_EQ(waitpid(agent, nullptr, 0), agent);
  std::string reason;
  std::ifstream(path() + "/ended") >> reason;
  EXPECT_EQ(reason, kReasonDeadline);
}

TEST_P(WatchdogTest, NothingOutlivesTerminate) {
  const auto process = start_or_die(stubborn_spec());
  ASSERT_TRUE(wait_until([&] { return all_started(); }));
  process->terminate(kGrace, "canceled");
  expect_gone_after_grace();
  const ExitedEvent exited = exit_of(run_to_end(*process));
  EXPECT_EQ(exited.signal, SIGKILL);
  EXPECT_EQ(exited.reason, "canceled");
  EXPECT_EQ(exited.leftover, 0);
}

TEST_P(WatchdogTest, NothingOutlivesTheProgram) {
  ProcessSpec spec = stubborn_spec();
  spec.arguments[1] =
      "(setsid sh -c 'trap \"\" TERM; echo $$ >> pids; sleep 60; sleep 60' &); "
      "while [ ! -s pids ]; do sleep 0.01; done; exit 4";
  const auto process = start_or_die(spec);
  const ExitedEvent exited = exit_of(run_to_end(*process, kGrace + kSlack + kSlack));
  EXPECT_EQ(exited.code, 4);
  EXPECT_EQ(exited.reason, "");
  EXPECT_EQ(pids_in(path()).size(), 1U);
  EXPECT_TRUE(all_gone(pids_in(path())));
}

TEST_P(WatchdogTest, NothingOutlivesAKilledWatchdog) {
  const auto process = start_or_die(stubborn_spec());
  // A second attempt is not touched.
  io::TempDirectory other;
  const auto neighbour = start_or_die(shell_spec(other.path(), "(setsid sleep 60 &); sleep 60"));
  ASSERT_TRUE(wait_until([&] { return all_started(); }));
  ASSERT_TRUE(wait_until([&] { return descendants_of(neighbour->watchdog_pid()).size() >= 2; }));
  ASSERT_EQ(kill(process->watchdog_pid(), SIGKILL), 0);
  const ExitedEvent exited = exit_of(run_to_end(*process, milliseconds(3'000)));
  EXPECT_EQ(exited.reason, kReasonWatchdogDied);
  EXPECT_TRUE(all_gone(pids_in(path())));
  EXPECT_GE(descendants_of(neighbour->watchdog_pid()).size(), 2U);
}

TEST_P(WatchdogTest, AStoppedWatchdogDoesNotStopTheDestructor) {
  auto process = start_or_die(stubborn_spec());
  ASSERT_TRUE(wait_until([&] { return all_started(); }));
  ASSERT_EQ(kill(process->watchdog_pid(), SIGSTOP), 0);
  process.reset();
  EXPECT_TRUE(all_gone(pids_in(path())));
}

TEST_P(WatchdogTest, AForkBombEnds) {
  ProcessSpec spec = stubborn_spec();
  // Each generation leaves before it can be found, unless it is stopped first.
  spec.arguments[1] =
      "trap '' TERM; echo $$ >> pids; f() { (f &) ; }; g() { while :; do (sleep "
      "0.01; :) & sleep 0.01; done; }; setsid sh -c 'trap \"\" TERM; h() { sleep "
      "0.02; (h &); exit; }; h' & g";
  const auto process = start_or_die(spec);
  ASSERT_TRUE(wait_until([&] { return pids_in(path()).size() == 1; }));
  std::this_thread::sleep_for(milliseconds(300));
  process->kill();
  const ExitedEvent exited = exit_of(run_to_end(*process, milliseconds(5'000)));
  EXPECT_EQ(exited.leftover, 0);
}

TEST_P(WatchdogTest, AStoppedProgramIsTerminatedAll) {
  ProcessSpec spec = stubborn_spec();
  spec.arguments[1] = "trap 'exit 9' TERM; echo $$ >> pids; kill -STOP $$; sleep 60";
  const auto process = start_or_die(spec);
  ASSERT_TRUE(wait_until([&] {
    const auto pids = pids_in(path());
    return !pids.empty() && read_process(pids[0]).value().state == 'T';
  }));
  process->terminate(milliseconds(10'000), "canceled");
  EXPECT_EQ(exit_of(run_to_end(*process, milliseconds(5'000))).code, 9);
}

TEST_P(WatchdogTest, TheEarliestEndCounts) {
  const auto process = start_or_die(stubborn_spec());
  ASSERT_TRUE(wait_until([&] { return all_started(); }));
  process->terminate(milliseconds(60'000), "drain");
  process->terminate(kGrace, "too late");
  process->alive(INT64_MAX);
  expect_gone_after_grace();
  EXPECT_EQ(exit_of(run_to_end(*process)).reason, "drain");
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutControlGroup, WatchdogTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Cgroup" : "Proc"; });

}  // namespace
}  // namespace loam::agent::testing
