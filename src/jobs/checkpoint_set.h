// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "jobs/attempt.h"

namespace loam::jobs {

// A checkpoint set as the database knows it. States: committed; suspect (three programs in a row
// died on loading it); bad (its bytes did not verify); retired (to be deleted); deleted.
struct CheckpointSet {
  std::string id;
  std::string job;
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::string unit;    // name of the file or directory as the program wrote it
  std::string prefix;  // "jobs/<job>/<epoch>-<tag>/ckpt/<step>-<set>/"
  std::int64_t bytes = 0;
  std::int64_t files = 0;
  std::string state;
  bool pinned = false;
  std::string message;
  std::int64_t committed_at = 0;

  Json to_json() const;
};

struct SetCommit {
  std::string id;
  std::int64_t step = 0;
  std::string unit;
  std::int64_t bytes = 0;
  std::int64_t files = 0;
  std::string manifest;  // JSON, as checkpoint/ defines it
  std::int64_t covered_us = 0;
};

// The key prefix that a set with this id must have been uploaded under.
std::string set_prefix(const Lease& lease, std::int64_t step, const std::string& set);

// Inserts the set under a valid lease and covers the attempt's time before it. The bytes have been
// verified by the caller. Idempotent by id.
Status commit_set(Operation& op, const LeaseRef& ref, const SetCommit& commit);

// The node that holds the lease found that the set's bytes do not verify.
Status mark_set_bad(Operation& op, const LeaseRef& ref, const std::string& set,
                    const std::string& message);

// After a program failed: if it had resumed from a set and made no step, the set is blamed too; the
// third time in a row it becomes suspect, the failures that it caused are forgiven (their number is
// returned) and the nodes where they happened may run the job again.
Result<std::int64_t> blame_resumed_set(Operation& op, const std::string& job, std::int64_t epoch);

// Newest first: by step, of one step by epoch, of one attempt by the time of the commit.
Result<std::vector<CheckpointSet>> list_sets(db::Session& session, const std::string& job);
Status pin_set(Operation& op, const std::string& job, const std::string& set, bool pinned);
// Marks sets for deletion; pinned ones are left.
Status retire_sets(Operation& op, const std::vector<std::string>& sets);
Result<std::vector<CheckpointSet>> retired_sets(db::Session& session, std::size_t limit);
Status mark_set_deleted(Operation& op, const std::string& set);

// A file of a set that `job` may read, by its manifest's prefix; kNotFound if there is no such set.
Result<std::string> readable_set_prefix(db::Session& session, const std::string& job,
                                        const std::string& set);

}  // namespace loam::jobs
