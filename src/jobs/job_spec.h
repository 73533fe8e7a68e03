// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace loam::jobs {

// One line of `sync`: `before` copies a path of the store into the work directory, `after` a path
// of the work directory to the store. Store paths are absolute and normal; local ones are relative
// and confined. A trailing '/' means a directory.
struct SyncRule {
  std::string from;
  std::string to;
};

struct CheckpointRule {
  std::string path;                      // relative to the work directory
  std::string unit = "directory";        // "file" or "directory"
  std::string match;                     // RE2; must match the whole name; group 1 is the step
  std::string complete_when = "rename";  // "rename", "marker" or "quiet"
  std::string marker;                    // for "marker": the name of the marker file
  std::int64_t quiet_ms = 0;             // for "quiet"
  std::int64_t keep_last = 2;
};

struct ProgressRule {
  std::string pattern;          // RE2 over whole lines of output; group 1 is the step; may be empty
  std::int64_t timeout_ms = 0;  // no new step for this long: stalled. 0: never
};

struct Resources {
  std::int64_t gpus = 0;
  std::vector<std::string> gpu_class;        // any of these; empty: any
  double vram_gb = 0;                        // per GPU, at least
  std::optional<double> max_price_per_hour;  // USD for the whole slot

  // The canonical text by which jobs that any node can or cannot run alike are grouped.
  std::string key(std::string_view pool) const;
};

// A job file, checked and with its parameters filled in.
struct JobSpec {
  std::string name;
  std::string pool = "any";
  std::string workdir_id;  // content hash; empty: an empty work directory
  std::string command;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
  std::vector<std::string> secrets;
  Resources resources;
  std::vector<SyncRule> before;
  std::vector<SyncRule> after;
  std::optional<CheckpointRule> checkpoint;
  std::optional<ProgressRule> progress;
  std::int64_t priority = 0;
  std::int64_t max_failures = 3;
  std::int64_t heartbeat_ms = 30'000;
  std::int64_t lease_ttl_ms = 75'000;
  std::int64_t grace_ms = 60'000;
  std::int64_t isolation_ms = 3'600'000;

  Json to_json() const;
};

inline constexpr std::size_t kMaxJobFileBytes = 256 << 10;

// From what a user sends. A key nobody knows is refused by name, with the nearest known one; a key
// that a later version will know is kUnimplemented; every message names the key
// ("checkpoint.match").
Result<JobSpec> parse_job_spec(const Json& input);
// From to_json(), as stored.
Result<JobSpec> load_job_spec(std::string_view stored);

// YAML (or JSON, its subset) to the JSON that parse_job_spec() takes. Bounded in size, depth and
// aliases; no tags.
Result<Json> job_file_to_json(std::string_view yaml);

// Absolute, normal store paths: "/a/b" or "/a/b/"; kInvalidArgument otherwise, kPermissionDenied
// for the server's own "/jobs" and "/.loam".
Status check_store_path(std::string_view path);

}  // namespace loam::jobs
