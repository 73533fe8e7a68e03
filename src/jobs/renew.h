// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/attempt.h"
#include "jobs/exposure.h"
#include "jobs/ledger.h"

namespace loam::jobs {

// What a node tells with each renewal; all of it is about the present attempt.
struct Renewal {
  std::string phase = "running";  // staging, running, draining, uploading
  std::optional<std::int64_t> resumed_step;
  std::string resumed_set;
  std::optional<std::int64_t> step;
  std::optional<std::int64_t> first_step_ago_us;
  std::optional<std::int64_t> save_cost_us;
  bool starved = false;  // three complete units in a row were skipped because uploads lag behind
  std::int64_t now_us = 0;
  std::vector<Segment> segments;
};

struct Renewed {
  std::int64_t ttl_ms = 0;
  std::int64_t isolation_ms = 0;
  SaveFigures figures;
};

// Extends the lease by its TTL from now. An expired lease that nobody else has taken comes back.
Result<Renewed> renew_lease(Operation& op, const LeaseRef& ref, const Renewal& renewal);

}  // namespace loam::jobs
