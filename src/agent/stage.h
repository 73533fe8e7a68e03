// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "agent/lease.h"
#include "agent/transfer.h"
#include "base/json.h"
#include "checkpoint/unit.h"
#include "jobs/job_spec.h"

namespace loam::agent {

// The work directory of the job, as it was when it was submitted.
Status stage_workdir(const Transfer& transfer, const Json& workdir, const std::string& work_dir);

// Everything under sync.before.
Status stage_inputs(const Transfer& transfer, const ServerApi& api, const Lease& lease,
                    const jobs::JobSpec& spec, const std::string& work_dir);

struct Resumed {
  std::int64_t step = 0;
  std::string set;  // empty: from zero, because there is no set
};
// Puts the newest set that verifies into the job's checkpoint directory; those that do not are
// reported bad. An error if there are sets but none verifies.
Result<Resumed> restore_checkpoint(const Transfer& transfer, const ServerApi& api,
                                   const Lease& lease, const Json& candidates,
                                   const std::string& directory);

// The job file's rule as checkpoint/ takes it.
checkpoint::CheckpointSpec checkpoint_spec(const jobs::CheckpointRule& rule);

}  // namespace loam::agent
