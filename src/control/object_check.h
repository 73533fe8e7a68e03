// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/services.h"

namespace loam::control {

struct ObjectProblem {
  std::string path;  // of the file, "" if it has none left
  std::string object;
  std::string problem;
};
struct ObjectCheck {
  std::vector<ObjectProblem> problems;
  std::int64_t checked = 0;
  std::optional<std::int64_t> next;  // to go on after; nothing at the end
};

// Whether the store has each object that files need, with its length and ETag: those with a number
// above `after`, at most `limit`. An error if the store does not answer for one.
Result<ObjectCheck> check_objects(const Services& services, std::int64_t after, std::int64_t limit);

}  // namespace loam::control
