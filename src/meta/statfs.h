// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "meta/operation.h"
#include "meta/usage.h"

namespace loam::meta {

// What df shows of a directory: usage and limits of the nearest directory from it upwards with a
// quota, each limit being the tightest room left of any above; of the whole tree if there is none.
struct Space {
  Usage used;
  std::optional<std::int64_t> bytes_left;  // nothing: no limit
  std::optional<std::int64_t> files_left;
};
// As old as the folding of usage (usage.h). kNotFound, kNotDirectory.
Result<Space> statfs(db::Session& session, std::int64_t directory);

}  // namespace loam::meta
