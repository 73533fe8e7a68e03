// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "loam/client.h"
#include "loam/store_path.h"
#include "loam/store_transfer.h"

namespace loam::cli {

// Which files a copy between this machine and the store moves, and where to. kInvalidArgument for a
// directory without `recursive`, and for two ends on the same side.
Result<std::vector<CopyItem>> plan_copy(const ApiClient& client, const CopyEnd& from,
                                        const CopyEnd& to, bool recursive);

}  // namespace loam::cli
