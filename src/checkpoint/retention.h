// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace loam::checkpoint {

enum class SetState {
  kGood,     // nothing is known against it
  kSuspect,  // programs crash when they load it
  kBad,      // its bytes did not verify
};

// A committed set as retention sees it.
struct CommittedSet {
  std::string id;
  std::int64_t step = 0;
  bool pinned = false;  // by a user; never deleted
  SetState state = SetState::kGood;
};

inline constexpr std::int64_t kMinKeptSets = 2;

// The ids of the sets that may go, in the order of the input. `sets` are all committed sets of one
// job in the order of their commits, which decides where steps are equal: a set is newer than
// another if its step is greater, or equal and committed later. Upload times and names mean
// nothing.
//
// Kept are: pinned sets; the newest max(keep_last, kMinKeptSets) good ones, pinned or not; and a
// suspect or bad one until kMinKeptSets good ones are newer than it. Sets that are not good never
// count towards what is kept, so marking one bad brings no good one nearer to its deletion; and
// while there is no safe way past one, it stays, for someone to look at or to salvage.
std::vector<std::string> choose_sets_to_delete(std::span<const CommittedSet> sets,
                                               std::int64_t keep_last);

}  // namespace loam::checkpoint
