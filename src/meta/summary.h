// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "db/database.h"

namespace loam::meta {

// What an operator wants to know of the whole namespace. Counting the objects reads their table.
struct Summary {
  struct Session {
    std::string node;
    std::int64_t epoch = 0;
    std::int64_t behind = 0;    // changes that it has not taken note of
    std::int64_t left_ms = 0;   // until it ends, by the lease clock
    std::int64_t reserved = 0;  // objects that it is writing
  };
  std::vector<Session> sessions;  // that live
  std::int64_t unfolded = 0;      // directories whose usage is not handed up yet
  std::int64_t conflicts = 0;     // commits that won over one that their writer had not seen
  std::int64_t losses = 0;
  std::int64_t orphans = 0;
  std::array<std::int64_t, 6> objects{};  // by ObjectState
};
Result<Summary> summarize(db::Session& session, std::int64_t lease_ms);

// Whether fold_usage() (usage.h) has something to do.
Result<bool> has_unfolded(db::Session& session);

}  // namespace loam::meta
