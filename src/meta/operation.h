// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/random.h"
#include "db/database.h"

namespace loam::meta {

// What every operation that changes something is given: the transaction and the world. `lease_ms`
// is the lease clock (a row that the caller reads in this transaction) and decides; `wall_ms` is
// the wall clock and is only recorded.
struct Operation {
  db::Session& session;
  Random& random;
  std::int64_t lease_ms = 0;
  std::int64_t wall_ms = 0;

  std::int64_t wall_ns() const { return wall_ms * 1'000'000; }
};

}  // namespace loam::meta
