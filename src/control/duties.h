// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "control/services.h"

namespace loam::control {

// This server's share of the work that one server at a time does for all. On a database that is not
// shared everything is its own. Any thread.
class Duties {
 public:
  Duties(const Services& services, std::string server)
      : services_(services), server_(std::move(server)) {}

  // Takes the duty if nobody else holds it; whether it is ours now.
  bool take(const std::string& duty);
  // Whether it is still ours for sure. To be asked before each step that must not be done twice.
  bool holds(const std::string& duty);

  // For the ticker: extends what is ours in its transaction, and after its commit notes what that
  // returned; `begun_us` is our clock before it.
  Result<std::vector<std::string>> keep(jobs::Operation& op);
  void kept(const std::vector<std::string>& duties, std::int64_t begun_us);
  // Lets another server take over at once.
  void leave();

 private:
  Services services_;
  const std::string server_;
  std::mutex mutex_;
  std::map<std::string, std::int64_t> until_us_;  // by our own clock
};

}  // namespace loam::control
