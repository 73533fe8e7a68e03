// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "api/context.h"
#include "jobs/attempt.h"
#include "jobs/job_spec.h"
#include "net/http_server.h"

namespace loam::api {

inline constexpr std::int64_t kMaxObjectBytes = std::int64_t{5} << 40;  // as S3

// What a node's call about bytes is judged by: its lease, which holds now, and what the job
// declares.
struct LeasedJob {
  jobs::LeaseRef ref;
  jobs::Lease lease;
  jobs::JobSpec spec;
};
Result<LeasedJob> leased_job(const ApiContext& context, const net::HttpRequest& request);

}  // namespace loam::api
