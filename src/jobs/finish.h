// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/attempt.h"
#include "jobs/ledger.h"

namespace loam::jobs {

// The part that every end of an attempt has in common.
struct FinalReport {
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> signal;
  std::string message;
  std::optional<std::int64_t> step;
  std::int64_t now_us = 0;
  std::vector<Segment> segments;
};

// One line of the publishing journal.
struct OutputFile {
  std::string source;       // key under the lease's prefix
  std::string destination;  // key of the final place
  std::int64_t bytes = 0;
  std::string etag;
};

// The program succeeded and its outputs, already verified, wait to be published. Frees the slot.
// With nothing to publish the job is completed at once. Idempotent for the same lease.
Status complete_attempt(Operation& op, const LeaseRef& ref, const FinalReport& report,
                        const std::vector<OutputFile>& outputs);

// How long a failed job waits: 2 s, 8 s, 32 s … of the lease clock, at most five minutes.
std::int64_t back_off_ms(std::int64_t failures);
// Failures of the platform (downloads, uploads, preparation) have this budget of their own.
inline constexpr std::int64_t kMaxPlatformFailures = 20;

// `cause` is "program", "stalled" or "platform". The job becomes pending with back-off, or failed
// once its budget for that cause is used up. Idempotent for the same lease.
Status fail_attempt(Operation& op, const LeaseRef& ref, const std::string& cause,
                    const FinalReport& report);

// The lease is given back on notice: the job may start elsewhere at once, and nothing counts
// against it. Idempotent for the same lease.
Status release_attempt(Operation& op, const LeaseRef& ref, const std::string& reason,
                       const FinalReport& report);

}  // namespace loam::jobs
