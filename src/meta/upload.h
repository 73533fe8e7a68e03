// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "meta/node_session.h"
#include "meta/object_id.h"

namespace loam::meta {

// Chooses the key under which a staged object goes to the store (object_key.h) and returns it; the
// same one each time. kLeaseLost, kNotFound; kConflict if no file needs the object any more, so
// that the upload can be left out.
Result<std::string> start_upload(Operation& op, const NodeRef& ref, const ObjectId& id);
// The same for an object that this session has reserved, and whose bytes go to the store before it
// is committed (Commit::stored_etag); `path` is where its file is, or will be, and makes its plain
// key.
Result<std::string> start_direct_upload(Operation& op, const NodeRef& ref, const ObjectId& id,
                                        std::string_view path);
// The store refused the plain key since something lies there: another key, which nobody else uses.
Result<std::string> avoid_plain_key(Operation& op, const NodeRef& ref, const ObjectId& id);

// The object's bytes are in the store: its holders need not keep theirs, and what was kept to fall
// back to is retired. Idempotent. kConflict if it was retired meanwhile (collect.h deletes what was
// uploaded) or no key was chosen.
Status finish_upload(Operation& op, const NodeRef& ref, const ObjectId& id,
                     const std::optional<std::string>& etag);

}  // namespace loam::meta
