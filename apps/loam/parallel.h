// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/parallel.h"

namespace loam::cli {

// Files on their way at the same time.
inline constexpr std::size_t kTransferThreads = 8;

}  // namespace loam::cli
