// SPDX-License-Identifier: Apache-2.0
#include "agent/attempt.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/process_tree.h"
#include "base/log.h"

namespace loam::agent {

namespace {

// What a program leaves behind gets this long after SIGTERM; the attempt is over with the program.
constexpr std::int64_t kSweepUs = 2'000'000;
// How long killing is tried, and how often: only a process that hangs in the kernel needs that
// long.
constexpr std::int64_t kKillUs = 30'000'000;
constexpr std::int64_t kKillAgainUs = 10'000;

std::int64_t microseconds(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

}  // namespace

Attempt::Attempt(const WatchdogOrder& order, const Clock& clock)
    : spec_(order.spec),
      clock_(clock),
      cgroup_(AttemptCgroup::create(order.cgroup_name)),
      kill_at_us_(order.spec.kill_at_boot_us) {}

Result<StartingChild> Attempt::start() {
  auto started = start_child(spec_, cgroup_);
  if (started) {
    child_ = started->pid;
  } else {
    cgroup_.remove();
  }
  return started;
}

void Attempt::terminate(std::chrono::milliseconds grace, const std::string& reason) {
  const std::int64_t deadline =
      clock_.boot_us() + microseconds(std::max(grace, std::chrono::milliseconds(0)));
  if (term_deadline_us_) {
    term_deadline_us_ = std::min(*term_deadline_us_, deadline);
    return;
  }
  term_deadline_us_ = deadline;
  if (child_status_) return;
  reason_ = reason;
  // The program is not reaped yet, so neither its pid nor its group can mean anything else. It gets
  // the signal once: many programs take a second one for "at once, without saving".
  kill(-child_, SIGTERM);
  if (getpgid(child_) != child_) kill(child_, SIGTERM);
  kill(-child_, SIGCONT);
}

bool Attempt::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid == 0) return true;
    if (pid < 0) return errno != ECHILD;
    if (pid != child_) continue;
    child_status_ = status;
    child_ended_us_ = clock_.boot_us();
  }
}

void Attempt::kill_everything() {
  if (!first_kill_us_) first_kill_us_ = clock_.boot_us();
  cgroup_.kill_all();
  // Needs no /proc, which may hide processes of other users.
  if (!child_status_) {
    kill(-child_, SIGKILL);
    kill(child_, SIGKILL);
  }
  const auto list = [] { return descendants_of(getpid()); };
  const auto reap_all = [this] { reap(); };
  kill_until_none(list, reap_all, std::chrono::seconds(2));
}

void Attempt::enforce() {
  const std::int64_t now = clock_.boot_us();
  if (kill_at_us_ != 0 && now >= kill_at_us_ && !term_deadline_us_) {
    terminate(spec_.grace, kReasonDeadline);
  }
  if (child_status_ && !sweep_deadline_us_) {
    sweep_deadline_us_ = now + std::min(kSweepUs, microseconds(spec_.grace));
    for (const ProcessInfo& process : descendants_of(getpid())) {
      signal_process(process, SIGTERM);
      signal_process(process, SIGCONT);
    }
  }
  const bool grace_over = term_deadline_us_ && now >= *term_deadline_us_;
  const bool sweep_over = sweep_deadline_us_ && now >= *sweep_deadline_us_;
  if (grace_over || sweep_over) kill_everything();
}

bool Attempt::worth_waiting() const {
  return !first_kill_us_ || clock_.boot_us() - *first_kill_us_ < kKillUs;
}

std::int64_t Attempt::next_deadline_us() const {
  if (first_kill_us_) return clock_.boot_us() + kKillAgainUs;
  std::int64_t next = INT64_MAX;
  if (kill_at_us_ != 0 && !term_deadline_us_) next = kill_at_us_;
  if (term_deadline_us_) next = std::min(next, *term_deadline_us_);
  if (sweep_deadline_us_) next = std::min(next, *sweep_deadline_us_);
  return next;
}

ExitedEvent Attempt::finish() {
  ExitedEvent event;
  event.reason = reason_;
  event.boot_us = child_ended_us_ != 0 ? child_ended_us_ : clock_.boot_us();
  event.leftover = static_cast<std::int64_t>(descendants_of(getpid()).size());
  if (child_status_ && WIFEXITED(*child_status_)) event.code = WEXITSTATUS(*child_status_);
  if (child_status_ && WIFSIGNALED(*child_status_)) event.signal = WTERMSIG(*child_status_);
  // A program that not even SIGKILL ends is still one that was killed.
  if (!child_status_) event.signal = SIGKILL;
  event.oom_killed = cgroup_.oom_killed();
  cgroup_.remove();
  if (event.leftover > 0) LOG_ERROR("{} processes cannot be killed", event.leftover);
  return event;
}

}  // namespace loam::agent
