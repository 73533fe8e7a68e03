// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"
#include "db/database.h"

namespace loam::jobs {

// What a job's paid time was used for, and what came of it, computed from the ledger's rows. Null
// stands for what is not known. kNotFound for an unknown job. Figures:
//
// - seconds_by_class: every paid microsecond of the job's attempts, by class, in seconds; they add
//   up to seconds_total exactly (in microseconds).
// - goodput: over the steps of the final history, the sum of min(duration, 3 x median), divided by
//   the paid time.
// - usd, usd_per_step: the cost of that time at each node's price over its slots; per step of the
//   final history.
// - interruptions, lost_steps: attempts that were lost or given back; steps that were reported and
//   that no set or completion covers. interruption_usd: ClassTotals::interruption_usd.
// - handovers, handover_seconds: for each interruption whose successor made a step, from the last
//   contact of the one to the first new step of the other; the last of them.
// - gpu_utilisation: GpuUse::share.
Result<Json> job_report(db::Session& session, const std::string& job);

}  // namespace loam::jobs
