// SPDX-License-Identifier: Apache-2.0
#include "object/part_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/units.h"
#include "object/multipart.h"

namespace loam::object {

namespace {

// Where the length is not known, parts double in size every so many.
constexpr int kPartsPerSize = 1'000;
constexpr int kMostDoublings = 7;

}  // namespace

Error PartSource::wrong_length() const {
  return Error{ErrorCode::kDataCorrupt, fmt::format("'{}' was announced with {} bytes, but {} came",
                                                    printable(key_), length_, read_)};
}

Result<std::size_t> PartSource::read(std::span<std::byte> out) {
  const std::size_t n = TRY(source_(out));
  read_ += static_cast<std::int64_t>(n);
  if (length_ >= 0 && (read_ > length_ || (n == 0 && read_ < length_))) return fail(wrong_length());
  return n;
}

Status PartSource::fill(std::string& part, std::int64_t part_bytes) {
  // No more than there will be, so that small objects cost little memory.
  const std::int64_t rest = length_ < 0 ? part_bytes : length_ - read_;
  const auto want = static_cast<std::size_t>(
      std::min<std::int64_t>(part_bytes, rest + static_cast<std::int64_t>(peeked_.size())));
  part.resize(want);
  std::size_t done = std::min(peeked_.size(), want);
  std::copy_n(peeked_.begin(), done, part.begin());
  peeked_.clear();
  while (done < want) {
    const std::size_t n = TRY(read(std::as_writable_bytes(std::span(part).subspan(done))));
    if (n == 0) break;
    done += n;
  }
  part.resize(done);
  ended_ = done < want;
  if (ended_) return {};
  char next = 0;
  if (TRY(read(std::as_writable_bytes(std::span(&next, 1)))) == 0) {
    ended_ = true;
  } else {
    peeked_ = next;
  }
  return {};
}

std::int64_t part_size(std::int64_t part_bytes, std::int64_t length, int number) {
  if (length < 0) return part_bytes << std::min((number - 1) / kPartsPerSize, kMostDoublings);
  const std::int64_t least = (length + kMaxParts - 1) / kMaxParts;
  return std::max(part_bytes, (least + kMiB - 1) / kMiB * kMiB);
}

}  // namespace loam::object
