// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "db/database.h"
#include "jobs/operation.h"
#include "object/object_store.h"

namespace loam::control {

// What every part of the server works with; all of it outlives them, and any thread may use it.
struct Services {
  db::Database& db;
  object::ObjectStore& store;
  const Clock& clock;
  Random& random;

  // Runs an operation of jobs/ in a write transaction. `F` is called with a jobs::Operation& and
  // returns a Result; it may be called more than once.
  template <typename F>
  auto write(F operation, db::WriteOptions options = {}) const
      -> std::invoke_result_t<F, jobs::Operation&> {
    using Out = std::invoke_result_t<F, jobs::Operation&>;
    Out out = fail(ErrorCode::kInternal, "the operation did not run");
    const Status status = db.write(
        [&](db::Session& session) -> Status {
          auto op = jobs::Operation::begin(session, clock, random);
          if (!op) return fail(op.error());
          out = operation(*op);
          return out ? Status() : Status(fail(out.error()));
        },
        options);
    if (!status) return fail(status.error());
    return out;
  }

  template <typename F>
  auto read(F operation) const -> std::invoke_result_t<F, db::Session&> {
    return db.read_value(std::move(operation));
  }
};

}  // namespace loam::control
