// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/result.h"

namespace loam::cli {

// From now on the first SIGINT or SIGTERM only sets a flag, so that a transfer can remove its
// temporary files; the second one ends the process.
void catch_interrupts();
bool interrupted();

// Sleeps, but not past an interrupt: that is kCanceled.
Status pause_for(std::chrono::milliseconds time);

}  // namespace loam::cli
