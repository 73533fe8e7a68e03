// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace loam::net {

// Takes the chunked coding (RFC 9112 section 7.1) off a body, byte by byte, so that it keeps no
// input and does not care how the network cut it up. Extensions and trailers are checked for
// control characters, bounded and dropped. (Beast's own decoder asserts on some valid bodies that
// arrive in small pieces.)
class ChunkedDecoder {
 public:
  static constexpr std::size_t kMaxChunkLine = 1024;
  static constexpr std::size_t kMaxTrailer = 8192;

  // A body over this is kTooLarge as soon as a chunk's size says so.
  void limit(std::int64_t max_bytes) { left_ = static_cast<std::uint64_t>(max_bytes); }

  struct Step {
    std::size_t used = 0;      // of the input
    std::size_t produced = 0;  // into the output
  };
  // Goes on until the input is used up, the output is full or the body is complete. After an error
  // (kInvalidArgument, kTooLarge) it must not be used again.
  Result<Step> decode(std::span<const std::byte> in, std::span<std::byte> out);
  bool complete() const { return state_ == State::kComplete; }

 private:
  enum class State {
    kSizeStart,  // the first digit of a chunk's size
    kSize,
    kExtension,
    kSizeLf,
    kData,
    kDataCr,
    kDataLf,
    kTrailerStart,  // at the start of a line of the trailer
    kTrailerLine,
    kTrailerLf,
    kLastLf,
    kComplete,
  };
  Status take(char c);
  Status take_size(char c);
  Status take_trailer(char c);
  Status begin_data();

  State state_ = State::kSizeStart;
  std::uint64_t chunk_ = 0;         // bytes left of this chunk
  std::uint64_t left_ = INT64_MAX;  // bytes that later chunks may still have
  std::size_t line_ = 0;            // bytes of this chunk's line
  std::size_t trailer_ = 0;
};

}  // namespace loam::net
