// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loam {

// A place where a write becomes durable. With LOAM_CRASH_AT_WRITE=n in the environment the process
// kills itself (SIGKILL, so that nothing is flushed or unwound) at the n-th one it reaches, counted
// from 1 over all places. Tests enumerate n; without the variable this costs one comparison.
void crash_point();

// The same for bytes on their way to the store: with LOAM_CRASH_AT_BYTE=n the process kills itself
// as soon as n bytes have been handed to the network, counted over all uploads.
void crash_point_bytes(std::int64_t bytes);

}  // namespace loam
