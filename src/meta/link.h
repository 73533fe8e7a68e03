// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "meta/entry.h"

namespace loam::meta {

// Gives an inode a further name. kPermissionDenied for a directory; kNotFound for an inode without
// any name (left); kAlreadyExists, kReadOnly at either end, kQuotaExceeded never: it is counted at
// its home alone.
Result<Attributes> link_inode(Operation& op, std::int64_t inode, const Place& place);

}  // namespace loam::meta
