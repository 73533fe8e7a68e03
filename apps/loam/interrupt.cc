// SPDX-License-Identifier: Apache-2.0
#include "loam/interrupt.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

namespace loam::cli {

namespace {

std::atomic<bool> interrupted_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "it is set in a signal handler");

void on_signal(int) {
  interrupted_flag.store(true);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() {
  return interrupted_flag.load();
}

Status pause_for(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds kLook{50};
  const auto until = std::chrono::steady_clock::now() + time;
  while (!interrupted()) {
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= left.zero()) return {};
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(left, kLook));
  }
  return fail(ErrorCode::kCanceled, "interrupted");
}

}  // namespace loam::cli
