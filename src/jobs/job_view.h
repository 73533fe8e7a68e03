// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "db/database.h"

namespace loam::jobs {

// What the API shows. `owner` set means: only if the job is this owner's, else kNotFound, so that
// nobody learns which ids exist.
Result<Json> job_view(db::Session& session, const std::string& job,
                      const std::optional<std::string>& owner, bool with_spec);

struct JobFilter {
  std::optional<std::string> owner;
  std::optional<std::string> status;
  std::optional<std::string> name;
  std::optional<std::string> pool;
  std::optional<std::int64_t> before_seq;  // the cursor: older than this
  std::size_t limit = 100;
};
struct JobPage {
  std::vector<Json> jobs;  // newest first
  std::optional<std::int64_t> next;
};
Result<JobPage> list_jobs(db::Session& session, const JobFilter& filter);

Result<std::vector<Json>> attempt_views(db::Session& session, const std::string& job);

}  // namespace loam::jobs
