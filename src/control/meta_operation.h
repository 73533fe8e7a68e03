// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "control/services.h"
#include "meta/operation.h"

namespace loam::control {

// The namespace's operations run in the same transactions as those of the jobs, by the same clock.
inline meta::Operation meta_operation(jobs::Operation& op) {
  return {op.session, op.random, op.lease_ms, op.wall_ms};
}

// Runs an operation of meta/ in a write transaction, as Services::write does one of jobs/.
template <typename F>
auto write_meta(const Services& services, F operation, db::WriteOptions options = {})
    -> std::invoke_result_t<F, meta::Operation&> {
  return services.write(
      [&](jobs::Operation& op) {
        meta::Operation inner = meta_operation(op);
        return operation(inner);
      },
      options);
}

}  // namespace loam::control
