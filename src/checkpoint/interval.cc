// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/interval.h"

#include <algorithm>
#include <cmath>

namespace loam::checkpoint {

std::optional<IntervalAdvice> advise_interval(Seconds between_interruptions, Seconds save_cost) {
  const double mean = between_interruptions.count();
  const double cost = save_cost.count();
  if (!std::isfinite(mean) || !std::isfinite(cost) || mean <= 0 || cost <= 0) return std::nullopt;
  // Two roots instead of one of a product that could overflow.
  const double interval = std::max(std::sqrt(2 * mean) * std::sqrt(cost), cost);
  const double loss = std::min(cost / interval + interval / (2 * mean), 1.0);
  return IntervalAdvice{Seconds(interval), loss};
}

}  // namespace loam::checkpoint
