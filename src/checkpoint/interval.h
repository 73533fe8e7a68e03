// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

namespace loam::checkpoint {

using Seconds = std::chrono::duration<double>;

struct IntervalAdvice {
  Seconds interval{};  // of work between two saves
  double loss = 0;     // share of the time that saving and lost work cost at that interval, 0 to 1
};

// How often to save: the interval that loses least when saving takes `save_cost` and interruptions
// come at random, on average `between_interruptions` apart. J. W. Young, "A first order
// approximation to the optimum checkpoint interval" (CACM 17(9), 1974): T = sqrt(2 M C), which
// loses C/T + T/(2M).
//
// The formula assumes C far below M. The interval is therefore never less than C, so that at least
// half of the time is work, and the loss never more than 1. Nothing if either is not above zero or
// not finite: without a measurement there is no advice.
std::optional<IntervalAdvice> advise_interval(Seconds between_interruptions, Seconds save_cost);

}  // namespace loam::checkpoint
