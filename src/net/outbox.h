// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "net/completion.h"

namespace loam::net {

// Bytes that wait for a socket, in order; used by its io thread only. Not bounded by itself: a
// response is one body, a BodyWriter lends one piece at a time, an EventQueue is bounded.
class Outbox {
 public:
  static constexpr std::size_t kMaxGather = 8;

  void push(std::string bytes, CompletionPtr done = nullptr);
  // The bytes stay the caller's until `done` is answered or dropped.
  void push_borrowed(std::span<const std::byte> bytes, CompletionPtr done);

  bool empty() const { return next_ == segments_.size(); }
  // The first pieces, for one gathering write.
  std::size_t gather(std::array<std::span<const std::byte>, kMaxGather>& pieces) const;
  // `n` bytes were written; answers the completions of what is now done.
  void consume(std::size_t n);
  // Drops everything; each completion gets `error`.
  void abandon(const Error& error);

 private:
  struct Segment {
    std::string owned;
    std::span<const std::byte> borrowed;
    CompletionPtr done;

    std::span<const std::byte> bytes() const;
  };

  std::vector<Segment> segments_;
  std::size_t next_ = 0;    // the first segment not done
  std::size_t offset_ = 0;  // written of it
};

}  // namespace loam::net
