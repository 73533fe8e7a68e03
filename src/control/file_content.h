// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "control/fs_path.h"
#include "control/server_session.h"
#include "control/services.h"
#include "meta/commit.h"

namespace loam::control {

struct PutContent {
  std::string path;
  Permit may_write;
  std::optional<std::int64_t> if_generation;  // kPreconditionFailed unless the file has this one
  bool exclusive = false;                     // kAlreadyExists if there is anything
  bool parents = false;                       // makes the directories above that are missing
  meta::NewInode inode;                       // of a file that is made
  std::optional<std::int64_t> mtime_ns;
  std::optional<std::int64_t> length;  // bytes, if known
  std::optional<std::string> crc32c;   // of the whole, eight hexadecimal digits
};

struct PutDone {
  meta::Attributes attributes;
  bool created = false;
};

// Puts a body into the store as the whole new content of a file, which is made if need be, and
// commits it; a file that is moved meanwhile gets it where it is then: whoever reads sees all of
// the old or all of the new. A body that ends early, does not match its checksum or cannot be
// committed changes nothing but that the directories above, if asked for, are there; what is in the
// store of it is removed after a while. Blocks while the body arrives.
Result<PutDone> put_content(const Services& services, ServerSession& session,
                            const PutContent& request, const object::Source& body);

}  // namespace loam::control
