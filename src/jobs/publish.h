// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/finish.h"

namespace loam::jobs {

// The publishing journal: one row per output file of a succeeded attempt. A server copies each from
// the lease's prefix to its destination and marks it; the transaction that finds none left sets the
// job completed. Copying is idempotent, so any server may go on where one died.

// Writes the journal; with no outputs the job is completed at once.
Status start_publishing(Operation& op, const std::string& job, std::int64_t epoch,
                        const std::vector<OutputFile>& outputs);

struct PendingOutput {
  std::string job;
  std::int64_t epoch = 0;  // of the attempt whose output it is
  std::int64_t index = 0;
  OutputFile file;
};
// Files not yet published, oldest job first.
Result<std::vector<PendingOutput>> pending_outputs(db::Session& session, std::size_t limit);

// Marks files as published and completes their job if they were the last. For an epoch that is no
// longer the job's it changes nothing: the job was retried, and another attempt's files now have
// these indexes.
Status mark_published(Operation& op, const std::string& job, std::int64_t epoch,
                      const std::vector<std::int64_t>& indexes);
// The source is gone or not what was verified: the job fails with reason "publish". As above, only
// in its own epoch.
Status fail_publishing(Operation& op, const std::string& job, std::int64_t epoch,
                       const std::string& message);

// Where a job's outputs are, as keys.
Result<std::vector<OutputFile>> published_outputs(db::Session& session, const std::string& job);

}  // namespace loam::jobs
