// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/result.h"

namespace loam::io {

// Makes the empty file `to` share the blocks of `from` (FICLONE). False, and `to` untouched, where
// the file system cannot; errors are those of the disk. A clone is taken at one instant: no writer
// can be seen half way.
Result<bool> try_reflink(int from, int to);

// Copies the whole of `from` to the start of `to`, inside the kernel where it can. Returns the
// bytes copied: what `from` held when its end was reached. A writer in between may be seen half
// way.
Result<std::int64_t> copy_contents(int from, int to);

}  // namespace loam::io
