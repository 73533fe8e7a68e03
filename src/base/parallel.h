// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include "base/result.h"

namespace loam {

// Calls work(0) … work(count - 1) on at most `threads` threads, the caller's among them. After a
// failure no further call begins; the first error is returned once those in progress have ended.
Status run_parallel(std::size_t count, std::size_t threads,
                    const std::function<Status(std::size_t)>& work);

}  // namespace loam
