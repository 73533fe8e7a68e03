// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jobs/operation.h"

namespace loam::jobs {

// What a node shows with each call about a job.
struct LeaseRef {
  std::string job;
  std::int64_t epoch = 0;
  std::string token;
  std::string node;
};

struct Lease {
  std::string job;
  std::int64_t epoch = 0;
  std::string node;
  std::int64_t slot = 0;
  std::string state;   // "held" or "expired"
  std::string owner;   // of the job
  std::string prefix;  // "jobs/<job>/<epoch>-<tag>/": the keys this lease may write
};

// The lease that `ref` names, if it is the current one: else kLeaseLost. An expired one that nobody
// else has taken is kConflict unless `allow_expired`.
Result<Lease> check_lease(Operation& op, const LeaseRef& ref, bool allow_expired = false);

// How an attempt ended, for its row and its event.
struct AttemptEnd {
  std::string state;  // "succeeded", "failed", "lost", "released", "canceled"
  std::string cause;  // "", "program", "stalled", "platform", "node_lost", "drained", "canceled"
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> signal;
  std::string message;
};

// Ends the attempt, deletes its lease, settles its provisional time in the ledger and frees its
// place in the owner's load. The attempt must be running.
Status end_attempt(Operation& op, const std::string& job, std::int64_t epoch,
                   const AttemptEnd& end);

// True if this very attempt, shown by the right token, has already ended in `state`: the call that
// ended it is being repeated.
Result<bool> already_ended(Operation& op, const LeaseRef& ref, std::string_view state);

}  // namespace loam::jobs
