// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jobs/operation.h"

namespace loam::jobs {

// With no loss seen yet in a pool, or less than this much time watched per loss, interruptible
// machines are assumed to last this long: community and spot GPUs are commonly lost every few
// hours.
inline constexpr std::int64_t kAssumedBetweenInterruptionsUs = std::int64_t{4} * 3'600 * 1'000'000;

// What the advice on how often to save is made of: the mean cost of one save of the job, as its
// attempts reported it, and the mean time between unannounced losses in the pool it last ran in.
struct SaveFigures {
  std::optional<std::int64_t> save_cost_us;
  std::int64_t between_interruptions_us = kAssumedBetweenInterruptionsUs;
};

// Adds an ended attempt's time, and its loss if it was one, to its pool's exposure.
Status record_exposure(Operation& op, const std::string& job, std::int64_t epoch);
Result<SaveFigures> save_figures(db::Session& session, const std::string& job);

}  // namespace loam::jobs
