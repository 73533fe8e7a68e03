// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "control/services.h"
#include "jobs/attempt.h"
#include "jobs/checkpoint_set.h"
#include "jobs/finish.h"

namespace loam::control {

struct ExpectedObject {
  std::string key;
  std::int64_t size = 0;
  std::string etag;
};

// Checks that every object is in the store with this size and ETag, up to 32 at a time. kConflict
// names the first that is not.
Status verify_objects(object::ObjectStore& store, const std::vector<ExpectedObject>& expected);

// Verifies a checkpoint set's objects outside any transaction, then commits it under the lease,
// then retires what retention no longer keeps. `body` is the node's call as the protocol describes
// it.
Status commit_checkpoint(const Services& services, const jobs::LeaseRef& ref, const Json& body);

// Verifies an attempt's outputs, then ends it as succeeded; publishing begins. The job's owner must
// still be allowed to write to the destinations, which `may_write` decides.
Status complete_job(const Services& services, const jobs::LeaseRef& ref, const Json& body,
                    const jobs::FinalReport& report,
                    const std::function<Status(jobs::Operation&, const jobs::Lease&,
                                               const std::string& path)>& may_write);

}  // namespace loam::control
