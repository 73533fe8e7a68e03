// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "db/database.h"

namespace loam::jobs {

// What the paid time of all nodes was used for, idle included, in all and by pool, GPU class and
// owner (whose part has no idle time). Beside the classes and their cost, as in job_report:
//
// - steps: those of the final histories, by where they were made; usd_per_step divides the whole
//   cost by them, idle time and interruptions included.
// - interruptions, interruption_usd, gpu_utilisation: as in job_report.
Result<Json> fleet_report(db::Session& session);

}  // namespace loam::jobs
