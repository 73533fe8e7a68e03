// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meta/inode.h"
#include "meta/operation.h"

namespace loam::meta {

// Where a search goes on.
struct FindPosition {
  std::int64_t size_class = 0;
  std::int64_t mtime_ns = INT64_MIN;
  std::int64_t size = 0;
  std::int64_t inode = 0;
};

struct FindQuery {
  std::int64_t directory = kRootInode;  // files below it
  std::int64_t min_size = 0;            // bytes
  std::int64_t max_mtime_ns = INT64_MAX;
  std::int64_t limit = 100;  // hits in one answer, 1 to 10,000
  FindPosition after;
};

struct FindAnswer {
  struct Hit {
    std::string path;
    Attributes attributes;
  };
  std::vector<Hit> hits;
  // Nothing when the search is over. An answer can have fewer hits than asked for, even none, and
  // go on: no more than kMaxExamined files that fit by size and age are looked at in one call.
  std::optional<FindPosition> next;
};
inline constexpr std::int64_t kMaxExamined = 20'000;

// Files by size and age, from an index: within each class of sizes (powers of two) oldest first.
// Whether one is below the directory is then asked of the directories above it.
Result<FindAnswer> find_files(db::Session& session, const FindQuery& query);

}  // namespace loam::meta
