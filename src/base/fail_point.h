// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loam {

// A place where a write becomes durable. With LOAM_CRASH_AT_WRITE=n in the environment the process
// kills itself (SIGKILL, so that nothing is flushed or unwound) at the n-th one it reaches, counted
// from 1 over all places. Tests enumerate n; without the variable this costs one comparison.
void crash_point();

}  // namespace loam
