// SPDX-License-Identifier: Apache-2.0
#include "meta/object_id.h"

#include <fmt/format.h>

#include <charconv>

#include "base/encoding.h"

namespace loam::meta {

std::string to_string(const ObjectId& id) {
  return fmt::format("{:x}-{:016x}", static_cast<std::uint64_t>(id.number),
                     static_cast<std::uint64_t>(id.nonce));
}

Result<ObjectId> parse_object_id(std::string_view text) {
  const auto hex = [](std::string_view digits, std::uint64_t& value) {
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  const std::size_t dash = text.find('-');
  std::uint64_t number = 0;
  std::uint64_t nonce = 0;
  if (dash != std::string_view::npos && hex(text.substr(0, dash), number) &&
      hex(text.substr(dash + 1), nonce)) {
    const ObjectId id{static_cast<std::int64_t>(number), static_cast<std::int64_t>(nonce)};
    if (to_string(id) == text) return id;
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is no object id", printable(text.substr(0, 80))));
}

}  // namespace loam::meta
