// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "control/worker_thread.h"

namespace loam::control {

// Hints to nodes that one of their leases has changed under them, so that a cancelled job stops
// within moments and not at its next renewal. Only hints: a lost one costs a heartbeat's time.
class Nudges {
 public:
  using Answer = std::function<void(std::vector<std::string> jobs)>;

  Nudges();
  // Answers with the jobs to renew as soon as there are some, or with none when the time is over. A
  // node has one such call at a time; a newer one ends the older.
  void wait(const std::string& node, std::chrono::milliseconds longest, Answer answer);
  void nudge(const std::string& node, const std::string& job);
  void stop();

 private:
  struct Waiting {
    std::chrono::steady_clock::time_point until;
    Answer answer;
  };
  void round();

  std::mutex mutex_;
  std::map<std::string, Waiting> waiting_;
  // Hints for nodes that were between two calls; at most kMostUnread nodes are remembered.
  // Nobody may ever come for them here, so they are forgotten after a while.
  struct Unread {
    std::set<std::string> jobs;
    std::chrono::steady_clock::time_point since;
  };
  std::map<std::string, Unread> unread_;
  WorkerThread thread_;
};

}  // namespace loam::control
