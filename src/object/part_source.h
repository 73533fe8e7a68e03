// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "object/object_store.h"

namespace loam::object {

// Cuts what a put reads into parts, and holds it to the length that was announced. One thread.
class PartSource {
 public:
  // `source` must outlive this. `length` is -1 if it is not known.
  PartSource(const Source& source, std::int64_t length, std::string_view key)
      : source_(source), length_(length), key_(key) {}

  // The next part, full unless the source has ended. A source that gives more or less than
  // announced is kDataCorrupt.
  Status fill(std::string& part, std::int64_t part_bytes);
  // Known after a fill: whether there is no more.
  bool ended() const { return ended_; }

 private:
  Result<std::size_t> read(std::span<std::byte> out);
  Error wrong_length() const;

  const Source& source_;
  const std::int64_t length_;
  const std::string_view key_;
  std::int64_t read_ = 0;
  bool ended_ = false;
  std::string peeked_;  // a byte of the next part: the only way to learn whether there is one
};

// How large part `number` of an object is: `part_bytes`, but so that 10,000 parts hold `length`
// bytes, or, where that is not known, five terabytes.
std::int64_t part_size(std::int64_t part_bytes, std::int64_t length, int number);

}  // namespace loam::object
