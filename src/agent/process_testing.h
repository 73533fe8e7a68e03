// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/log_spool.h"
#include "agent/process_tree.h"
#include "agent/supervised.h"
#include "io/temp_directory.h"

// What the tests that start real processes share. The test program is its own watchdog: see main()
// in agent_main_test.cc.
namespace loam::agent::testing {

using std::chrono::milliseconds;

inline WatchdogProgram test_watchdog() {
  return {"/proc/self/exe", {"agent_test", "--watchdog"}};
}

// Runs a shell script in `directory`, where it may write; the spool is there too.
inline ProcessSpec shell_spec(const std::string& directory, const std::string& script) {
  ProcessSpec spec;
  spec.command = "sh";
  spec.arguments = {"-c", script};
  spec.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  spec.work_dir = directory;
  spec.spool_dir = directory;
  spec.grace = milliseconds(1'000);
  return spec;
}

inline std::unique_ptr<SupervisedProcess> start_or_die(const ProcessSpec& spec) {
  auto process = SupervisedProcess::start(spec, test_watchdog());
  EXPECT_TRUE(process) << process.error().message;
  return process ? std::move(*process) : nullptr;
}

// All events until the process is over; fails the test after `limit`.
inline std::vector<ProcessEvent> run_to_end(SupervisedProcess& process,
                                            milliseconds limit = milliseconds(20'000)) {
  std::vector<ProcessEvent> events;
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!process.over() && std::chrono::steady_clock::now() < end) {
    const auto event = process.next_event(milliseconds(100));
    EXPECT_TRUE(event) << event.error().message;
    if (!event) break;
    if (*event) events.push_back(**event);
  }
  EXPECT_TRUE(process.over());
  return events;
}

template <typename Event>
std::vector<Event> only(const std::vector<ProcessEvent>& events) {
  std::vector<Event> out;
  for (const ProcessEvent& event : events) {
    if (const auto* match = std::get_if<Event>(&event)) out.push_back(*match);
  }
  return out;
}

inline ExitedEvent exit_of(const std::vector<ProcessEvent>& events) {
  const auto exits = only<ExitedEvent>(events);
  EXPECT_EQ(exits.size(), 1U);
  return exits.empty() ? ExitedEvent{} : exits.front();
}

inline bool wait_until(const std::function<bool()>& condition,
                       milliseconds limit = milliseconds(10'000)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

// The pids that a script has appended to the file `pids`.
inline std::vector<pid_t> pids_in(const std::string& directory) {
  std::ifstream file(directory + "/pids");
  std::vector<pid_t> out;
  for (pid_t pid = 0; file >> pid;)
    out.push_back(pid);
  return out;
}

inline bool all_gone(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    const auto info = read_process(pid);
    if (info && !info->is_dead()) return false;
  }
  return true;
}

// The whole spool; gaps appear as "<gap N>".
inline std::string spooled(const std::string& directory) {
  auto reader = LogSpoolReader::open(directory);
  if (!reader) return reader.error().message;
  std::string out;
  for (;;) {
    const auto chunk = reader->next();
    if (!chunk || !*chunk) return out;
    if ((*chunk)->gap_before > 0) out += "<gap " + std::to_string((*chunk)->gap_before) + ">";
    out += (*chunk)->text;
    if ((*chunk)->last) return out;
  }
}

}  // namespace loam::agent::testing
