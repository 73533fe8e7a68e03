// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

namespace loam::cli {

// Blocks SIGINT and SIGTERM in this thread and all that it starts; call before any thread.
void block_stop_signals();

// Waits for SIGINT or SIGTERM. A second one ends the process at once, with 130.
void wait_for_stop_signal();

// Runs `on_signal` when the first comes, from a thread of its own.
void on_stop_signal(std::function<void()> on_signal);

// Blocks SIGHUP in this thread and all that it starts; call before any thread.
void block_hangup();

// Runs `action` for ever, from a thread of its own: with true when SIGHUP comes, else with false
// once in each `period`.
void on_hangup_or_every(std::chrono::milliseconds period, std::function<void(bool hangup)> action);

}  // namespace loam::cli
