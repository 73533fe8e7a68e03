// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "meta/operation.h"

namespace loam::meta {

// How many new numbers an operation needs of each kind, or the first of those that it got.
struct Numbers {
  std::int64_t inode = 0;
  std::int64_t dentry = 0;
  std::int64_t object = 0;
  std::int64_t change = 0;
};

// Takes numbers in one statement. The row stays locked until the transaction ends, so whoever has
// seen change n has seen every change up to n. Growing over the whole namespace, they grow within
// each directory, too.
Result<Numbers> take_numbers(Operation& op, const Numbers& wanted);

// The last change that was numbered, in this transaction or one before.
Result<std::int64_t> last_change(db::Session& session);

}  // namespace loam::meta
