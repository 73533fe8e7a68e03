// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/retention.h"

#include <algorithm>
#include <numeric>

namespace loam::checkpoint {

std::vector<std::string> choose_sets_to_delete(std::span<const CommittedSet> sets,
                                               std::int64_t keep_last) {
  const std::int64_t kept = std::max(keep_last, kMinKeptSets);
  std::vector<std::size_t> newest_first(sets.size());
  std::iota(newest_first.begin(), newest_first.end(), std::size_t{0});
  std::sort(newest_first.begin(), newest_first.end(), [&](std::size_t a, std::size_t b) {
    return sets[a].step != sets[b].step ? sets[a].step > sets[b].step : a > b;
  });

  std::vector<bool> goes(sets.size(), false);
  std::int64_t good_and_newer = 0;
  for (const std::size_t i : newest_first) {
    const bool good = sets[i].state == SetState::kGood;
    goes[i] = !sets[i].pinned && good_and_newer >= (good ? kept : kMinKeptSets);
    if (good) ++good_and_newer;
  }

  std::vector<std::string> ids;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (goes[i]) ids.push_back(sets[i].id);
  }
  return ids;
}

}  // namespace loam::checkpoint
