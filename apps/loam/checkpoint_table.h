// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "loam/table.h"

namespace loam::cli {

// The checkpoint sets of a job as the API lists them, newest first. The first committed one is the
// recovery point.
Table checkpoint_table(const Json& sets);

}  // namespace loam::cli
