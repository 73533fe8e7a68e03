// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "loam/client.h"

namespace loam::cli {

// Names of nodes by id, asked of the server when an unknown one appears, at most every few seconds.
// An id that stays unknown is its own name. One thread at a time.
class NodeNames {
 public:
  explicit NodeNames(const ApiClient& client) : client_(client) {}
  std::string operator()(const std::string& id);

 private:
  const ApiClient& client_;
  std::map<std::string, std::string> names_;
  std::chrono::steady_clock::time_point asked_;
};

}  // namespace loam::cli
