// SPDX-License-Identifier: Apache-2.0
#include "agent/process_tree.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/process_testing.h"

namespace loam::agent::testing {
namespace {

// A child that does nothing until it is killed.
pid_t start_idle(const char* name = nullptr) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (name != nullptr) prctl(PR_SET_NAME, name, 0, 0, 0);
    for (;;)
      pause();
  }
  return pid;
}

TEST(ProcessTree, ReadsItself) {
  const auto self = read_process(getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->pid, getpid());
  EXPECT_EQ(self->parent, getppid());
  EXPECT_EQ(self->session, getsid(0));
  EXPECT_EQ(self->group, getpgid(0));
  EXPECT_GE(self->threads, 1);
  EXPECT_GT(self->start_ticks, 0U);
  EXPECT_FALSE(self->is_dead());
  EXPECT_FALSE(read_process(0x3fffffff));
}

TEST(ProcessTree, ReadsANameFullOfParentheses) {
  const pid_t pid = start_idle(") S 1 (x) 2");
  ASSERT_TRUE(wait_until([&] {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    return std::getline(file, name) && name == ") S 1 (x) 2";
  }));
  const auto info = read_process(pid);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->parent, getpid());
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

TEST(ProcessTree, SortsParentsBeforeChildrenAndLeavesOutTheDead) {
  const auto process = [](pid_t pid, pid_t parent, char state = 'S') {
    ProcessInfo info;
    info.pid = pid;
    info.parent = parent;
    info.state = state;
    info.threads = 1;
    return info;
  };
  std::vector<ProcessInfo> all{process(5, 4), process(4, 2), process(2, 1), process(3, 9),
                               process(6, 2, 'Z')};
  std::vector<pid_t> found;
  for (const ProcessInfo& info : descendants_of(1, all))
    found.push_back(info.pid);
  EXPECT_EQ(found, (std::vector<pid_t>{2, 4, 5}));
  // A first thread that has ended while others run is alive.
  all.back().threads = 2;
  EXPECT_EQ(descendants_of(1, all).size(), 4U);
  // A circle, as a reused pid can make one, ends.
  EXPECT_EQ(descendants_of(7, {process(7, 8), process(8, 7)}).size(), 1U);
}

TEST(ProcessTree, SignalsOnlyTheSameProcess) {
  const pid_t pid = start_idle();
  const ProcessInfo info = read_process(pid).value();
  ProcessInfo earlier = info;
  earlier.start_ticks -= 1;
  EXPECT_FALSE(signal_process(earlier, SIGKILL));
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0);
  EXPECT_TRUE(signal_process(info, SIGKILL));
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
  EXPECT_FALSE(signal_process(info, SIGKILL));
}

TEST(ProcessTree, KillsUntilNoneIsLeft) {
  const pid_t pid = start_idle();
  const auto list = [&] {
    std::vector<ProcessInfo> out;
    const auto info = read_process(pid);
    if (info && !info->is_dead()) out.push_back(*info);
    return out;
  };
  const auto reap = [&] { waitpid(pid, nullptr, WNOHANG); };
  EXPECT_EQ(kill_until_none(list, reap, milliseconds(5'000)), 0U);
  EXPECT_TRUE(all_gone({pid}));
}

TEST(ProcessTree, GivesUpInTime) {
  // Stands for a process that hangs in the kernel: it exists, and no signal reaches it.
  ProcessInfo untouchable;
  untouchable.pid = 0x3fffffff;
  const auto list = [&] { return std::vector<ProcessInfo>{untouchable}; };
  EXPECT_EQ(kill_until_none(
                list, [] {}, milliseconds(50)),
            1U);
}

}  // namespace
}  // namespace loam::agent::testing
