// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "meta/entry.h"

namespace loam::meta {

enum class RenameMode {
  kReplace,
  kNoReplace,  // kAlreadyExists if the new name is taken
  kExchange,   // both exist and change places
};

// Moves an entry, in time that does not depend on what lies below it. What stood at `to` is removed
// by the rules of POSIX: kIsDirectory or kNotDirectory if only one of the two is a directory,
// kNotEmpty. Two links of the same inode stay as they are. kInvalidArgument if a directory would
// come below itself. kNotFound, kReadOnly, kQuotaExceeded where the new place has quotas that the
// old one has not.
Status rename_entry(Operation& op, const Place& from, const Place& to,
                    RenameMode mode = RenameMode::kReplace);

}  // namespace loam::meta
