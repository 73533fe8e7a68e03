// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "db/database.h"
#include "jobs/lease_clock.h"

namespace loam::jobs {

// What every operation of this folder is given: the transaction and the world. `lease_ms` is the
// lease clock at the start of the operation and decides; `wall_ms` is only recorded.
struct Operation {
  db::Session& session;
  Random& random;
  std::int64_t lease_ms = 0;
  std::int64_t wall_ms = 0;

  static Result<Operation> begin(db::Session& session, const Clock& clock, Random& random) {
    return Operation{session, random, TRY(lease_now(session)), clock.wall_ms()};
  }
};

}  // namespace loam::jobs
