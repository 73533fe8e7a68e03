// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "base/result.h"

namespace loam::checkpoint {

// Whether one of these processes holds the file `path`, or a file below the directory `path`, open
// for writing or mapped shared and writable (proc(5): fd, fdinfo, maps). Files are told apart by
// device and inode, so renames and mount namespaces do not matter; on file systems whose maps show
// another device than stat (btrfs, overlayfs) mappings alone may be missed. A process that is gone
// holds nothing; one that we may not look into is kPermissionDenied.
Result<bool> is_open_for_writing(const std::string& path, std::span<const pid_t> pids);

}  // namespace loam::checkpoint
