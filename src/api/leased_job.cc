// SPDX-License-Identifier: Apache-2.0
#include "api/leased_job.h"

#include "api/respond.h"
#include "jobs/job_view.h"

namespace loam::api {

Result<LeasedJob> leased_job(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::LeaseRef ref = TRY(lease_of(context, request));
  return context.services.read([&](db::Session& session) -> Result<LeasedJob> {
    jobs::Operation op =
        TRY(jobs::Operation::begin(session, context.services.clock, context.services.random));
    LeasedJob out{.ref = ref, .lease = TRY(jobs::check_lease(op, ref)), .spec = {}};
    const Json view = TRY(jobs::job_view(session, ref.job, std::nullopt, /*with_spec=*/true));
    out.spec = TRY(jobs::load_job_spec(dump_json(view.at("spec"))));
    return out;
  });
}

}  // namespace loam::api
