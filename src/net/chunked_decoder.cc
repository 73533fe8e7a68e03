// SPDX-License-Identifier: Apache-2.0
#include "net/chunked_decoder.h"

#include <algorithm>
#include <cstring>

namespace loam::net {

namespace {

tl::unexpected<Error> bad() {
  return fail(ErrorCode::kInvalidArgument, "the chunked coding of the request body is not valid");
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_text(char c) {
  const auto value = static_cast<unsigned char>(c);
  return (value >= 0x20 && value != 0x7f) || c == '\t';
}

}  // namespace

Result<ChunkedDecoder::Step> ChunkedDecoder::decode(std::span<const std::byte> in,
                                                    std::span<std::byte> out) {
  Step step;
  while (step.used < in.size() && !complete()) {
    if (state_ != State::kData) {
      TRY_VOID(take(static_cast<char>(in[step.used])));
      ++step.used;
      continue;
    }
    const std::size_t room = std::min(in.size() - step.used, out.size() - step.produced);
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(room, chunk_));
    if (n == 0) break;
    std::memcpy(out.data() + step.produced, in.data() + step.used, n);
    step.used += n;
    step.produced += n;
    chunk_ -= n;
    if (chunk_ == 0) state_ = State::kDataCr;
  }
  return step;
}

Status ChunkedDecoder::take(char c) {
  switch (state_) {
    case State::kSizeStart:
    case State::kSize:
    case State::kExtension:
      return take_size(c);
    case State::kSizeLf:
      if (c != '\n') return bad();
      return begin_data();
    case State::kDataCr:
      if (c != '\r') return bad();
      state_ = State::kDataLf;
      return {};
    case State::kDataLf:
      if (c != '\n') return bad();
      state_ = State::kSizeStart;
      return {};
    case State::kTrailerStart:
    case State::kTrailerLine:
    case State::kTrailerLf:
      return take_trailer(c);
    case State::kLastLf:
      if (c != '\n') return bad();
      state_ = State::kComplete;
      return {};
    case State::kData:
    case State::kComplete:
      break;
  }
  return bad();
}

Status ChunkedDecoder::take_size(char c) {
  if (state_ == State::kSizeStart) {
    chunk_ = 0;
    line_ = 0;
  }
  if (++line_ > kMaxChunkLine) return bad();
  const int digit = state_ == State::kExtension ? -1 : hex_digit(c);
  if (digit >= 0) {
    if (chunk_ > (UINT64_MAX >> 4)) return bad();
    chunk_ = (chunk_ << 4) | static_cast<std::uint64_t>(digit);
    state_ = State::kSize;
    return {};
  }
  if (state_ == State::kSizeStart) return bad();
  if (c == '\r') {
    state_ = State::kSizeLf;
    return {};
  }
  if (state_ == State::kSize ? c != ';' : !is_text(c)) return bad();
  state_ = State::kExtension;
  return {};
}

Status ChunkedDecoder::begin_data() {
  if (chunk_ > left_) {
    return fail(ErrorCode::kTooLarge, "the request body is over the limit of this path");
  }
  left_ -= chunk_;
  state_ = chunk_ == 0 ? State::kTrailerStart : State::kData;
  return {};
}

Status ChunkedDecoder::take_trailer(char c) {
  if (++trailer_ > kMaxTrailer) return bad();
  if (state_ == State::kTrailerLf) {
    if (c != '\n') return bad();
    state_ = State::kTrailerStart;
    return {};
  }
  if (c == '\r') {
    state_ = state_ == State::kTrailerStart ? State::kLastLf : State::kTrailerLf;
    return {};
  }
  if (!is_text(c)) return bad();
  state_ = State::kTrailerLine;
  return {};
}

}  // namespace loam::net
