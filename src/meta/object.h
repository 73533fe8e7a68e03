// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meta/node_session.h"
#include "meta/object_id.h"
#include "meta/operation.h"

namespace loam::meta {

// Stored as these numbers.
enum class ObjectState : std::int64_t {
  kWriting = 1,  // reserved by a node's session; nobody else knows it
  kStaged = 2,   // committed; its bytes are on its holders' drives
  kStored = 3,   // its bytes are in the store
  kRetired = 4,  // no file needs it any more; collect.h decides when it goes
  kDeleted = 5,  // gone; the row keeps its plain key from being used again
};

// An object belongs to the one inode that it was written for.
struct Object {
  ObjectId id;
  std::int64_t inode = 0;   // 0 while it is reserved without one
  std::int64_t length = 0;  // bytes
  ObjectState state = ObjectState::kWriting;
  std::int64_t generation = 0;  // that its commit made; 0 before
  std::string node;             // while it is written, else empty
  std::int64_t epoch = 0;
  std::optional<std::string> key;  // in the store, once an upload has begun
  std::optional<std::string> etag;
  std::string crcs;  // CRC32C of each block, 4 bytes each, as the writer gave them; may be empty
};

// kNotFound if there is none (any more).
Result<Object> get_object(db::Session& session, const ObjectId& id);

// Those in the store with a number above `after`, in order, at most `limit`.
Result<std::vector<Object>> list_stored(db::Session& session, std::int64_t after,
                                        std::int64_t limit);

// Whether this session is writing it.
bool is_reserved_by(const Object& object, const NodeRef& ref);

// The first step of writing new content for a file: no byte leaves the node before its object's row
// is there. kLeaseLost, kNotFound, kInvalidArgument if the inode is no file.
Result<ObjectId> reserve_object(Operation& op, const NodeRef& ref, std::int64_t inode);
// The same for a file that may not be there yet: what is put at a path finds its file at the
// commit, by bind_object() in the same transaction.
Result<ObjectId> reserve_unbound(Operation& op, const NodeRef& ref);
// kConflict if it has another file already; kLeaseLost, kNotFound.
Status bind_object(Operation& op, const NodeRef& ref, const ObjectId& id, std::int64_t inode);

// Forgets what a session has reserved and not committed. Where a key was chosen, bytes may be in
// the store, or come there yet: such an object is retired, and its key is not used again. Not an
// error if it is no longer reserved.
Status abandon_object(Operation& op, const NodeRef& ref, const ObjectId& id);
// All that a node's sessions have reserved.
Status abandon_reserved(Operation& op, const std::string& node);

// A node has a durable copy of a staged object now. Nothing happens if it is stored meanwhile;
// kConflict if it is neither.
Status add_holder(Operation& op, const NodeRef& ref, const ObjectId& id);
Result<std::vector<std::string>> holders_of(db::Session& session, std::int64_t object);

// No file needs it from this change of the log on.
Status retire_object(Operation& op, std::int64_t object);

}  // namespace loam::meta
