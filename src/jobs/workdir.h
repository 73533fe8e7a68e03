// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "jobs/operation.h"

namespace loam::jobs {

struct WorkdirFile {
  std::string path;  // relative, confined
  std::int64_t size = 0;
  unsigned mode = 0644;
  std::string sha256;  // of the content
};

inline constexpr std::size_t kMaxWorkdirFiles = 20'000;
inline constexpr std::int64_t kMaxWorkdirBytes = std::int64_t{4} << 30;

// A work directory is named by the SHA-256 of its canonical manifest, so the same content uploaded
// twice is stored once.
Result<std::vector<WorkdirFile>> parse_workdir(const Json& manifest);
Json workdir_json(const std::vector<WorkdirFile>& files);
std::string workdir_id(const std::vector<WorkdirFile>& files);

// Registers a work directory, all of whose files are in the store, for an owner.
Status add_workdir(Operation& op, const std::string& owner, const std::vector<WorkdirFile>& files);
Result<std::vector<WorkdirFile>> load_workdir(db::Session& session, const std::string& id);

// The key under which a file's content lies.
std::string workdir_blob_key(const std::string& sha256);

}  // namespace loam::jobs
