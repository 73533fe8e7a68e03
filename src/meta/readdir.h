// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "meta/entry.h"

namespace loam::meta {

struct ListedEntry {
  std::int64_t cookie = 0;
  std::string name;
  Attributes attributes;
};

inline constexpr std::int64_t kMaxListedEntries = 10'000;

// The entries of a directory after `cookie` (0: from the start), at most `limit` (1 to
// kMaxListedEntries); fewer than asked for is the end. An entry keeps its cookie while it stays
// where it is, so a page is right whatever was made or removed between two calls; what comes into
// the directory meanwhile is at the end. kNotFound, kNotDirectory.
Result<std::vector<ListedEntry>> readdir(db::Session& session, std::int64_t directory,
                                         std::int64_t cookie, std::int64_t limit);

}  // namespace loam::meta
