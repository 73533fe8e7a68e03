// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobs/job_spec.h"
#include "jobs/operation.h"

namespace loam::jobs {

struct Submission {
  std::string owner;
  JobSpec spec;
  std::map<std::string, std::string>
      sealed_secrets;  // name → ciphertext, one for each of spec.secrets
};

inline constexpr std::size_t kMaxJobsPerCall = 1'000;

// Inserts the jobs, claimable at once, and returns their ids in order. All or none: an error leaves
// the whole transaction to be rolled back.
Result<std::vector<std::string>> submit_jobs(Operation& op,
                                             const std::vector<Submission>& submissions);

}  // namespace loam::jobs
