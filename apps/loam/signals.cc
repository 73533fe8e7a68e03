// SPDX-License-Identifier: Apache-2.0
#include "loam/signals.h"

#include <signal.h>
#include <unistd.h>

#include <thread>

namespace loam::cli {

namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

sigset_t hangup() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

void block_stop_signals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  // A peer that goes away shows as an error of the write, not as the end of this process.
  signal(SIGPIPE, SIG_IGN);
}

void wait_for_stop_signal() {
  const sigset_t set = stop_signals();
  int number = 0;
  sigwait(&set, &number);
  std::thread([set] {
    int again = 0;
    sigwait(&set, &again);
    _exit(130);
  }).detach();
}

void on_stop_signal(std::function<void()> on_signal) {
  std::thread([on_signal = std::move(on_signal)] {
    wait_for_stop_signal();
    on_signal();
  }).detach();
}

void block_hangup() {
  const sigset_t set = hangup();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void on_hangup_or_every(std::chrono::milliseconds period, std::function<void(bool)> action) {
  std::thread([period, action = std::move(action)] {
    const sigset_t set = hangup();
    const timespec wait{period.count() / 1'000, period.count() % 1'000 * 1'000'000};
    while (true)
      action(sigtimedwait(&set, nullptr, &wait) == SIGHUP);
  }).detach();
}

}  // namespace loam::cli
