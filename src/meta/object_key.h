// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "meta/object_id.h"
#include "meta/operation.h"

namespace loam::meta {

struct Object;

// Where an object's bytes lie in the store. A key belongs to one object for ever. It is the file's
// own path at the time when its upload begins, if no key that was ever used equals it, is an
// ancestor of it or lies under it (a directory store could not hold both), and if it is UTF-8 of at
// most 1,024 bytes; else it is made of the object's id, and not stored in its row.

// ".loam/objects/<last two digits>/<id>"
std::string own_key(const ObjectId& id);
// Of the columns `keyed` (0: no key yet, 1: a plain one, 2: its own) and `key`.
std::optional<std::string> key_from_row(const ObjectId& id, std::int64_t keyed,
                                        std::optional<std::string> key);

// Whether nothing stands in the way of a plain key.
Result<bool> is_key_free(db::Session& session, std::string_view key);

// Chooses the object's key and writes it into its row, unless it has one; returns it.
Result<std::string> assign_key(Operation& op, const Object& object);
// The same for an object whose file is at `path` or will be.
Result<std::string> assign_key(Operation& op, const Object& object, std::string_view path);
// The store has something at the object's plain key that nobody told us of: gives it its own key
// instead, and returns that.
Result<std::string> assign_own_key(Operation& op, const Object& object);

}  // namespace loam::meta
