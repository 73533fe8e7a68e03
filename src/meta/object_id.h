// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace loam::meta {

// Names an object for ever: the number finds its row, the 64 random bits keep a database that was
// restored from a dump from giving a name out twice. As text "<number>-<nonce>" in lower-case hex,
// the nonce with 16 digits.
struct ObjectId {
  std::int64_t number = 0;
  std::int64_t nonce = 0;

  friend bool operator==(const ObjectId&, const ObjectId&) = default;
};
std::string to_string(const ObjectId& id);
// kInvalidArgument for anything but what to_string() gives.
Result<ObjectId> parse_object_id(std::string_view text);

}  // namespace loam::meta
