// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"
#include "db/database.h"

namespace loam::jobs {

// What a job's paid time was used for, and what came of it. Figures, all computed from the ledger's
// rows:
//   seconds_by_class   every paid microsecond of the job's attempts, by class, in seconds; they add
//   up
//                      to seconds_total exactly (in microseconds)
//   goodput            over the steps of the final history, sum of min(duration, 3 x median),
//   divided by
//                      paid time
//   usd, usd_per_step  cost of that time at each node's price over its slots; steps of the final
//   history interruptions      attempts that were lost or given back lost_steps         steps that
//   were reported and no set or completion covers handover_seconds   for each interruption whose
//   successor made a step: from the last contact of the
//                      one to the first new step of the other; the last one, and all in `handovers`
// kNotFound for an unknown job.
Result<Json> job_report(db::Session& session, const std::string& job);

// The same partition for whole nodes, idle included, by pool, GPU class and owner.
Result<Json> fleet_report(db::Session& session);

}  // namespace loam::jobs
