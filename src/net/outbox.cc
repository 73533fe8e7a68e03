// SPDX-License-Identifier: Apache-2.0
#include "net/outbox.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace loam::net {

std::span<const std::byte> Outbox::Segment::bytes() const {
  return owned.empty() ? borrowed : std::as_bytes(std::span(owned));
}

void Outbox::push(std::string bytes, CompletionPtr done) {
  segments_.push_back({std::move(bytes), {}, std::move(done)});
}

void Outbox::push_borrowed(std::span<const std::byte> bytes, CompletionPtr done) {
  segments_.push_back({{}, bytes, std::move(done)});
}

std::size_t Outbox::gather(std::array<std::span<const std::byte>, kMaxGather>& pieces) const {
  const std::size_t count = std::min(kMaxGather, segments_.size() - next_);
  for (std::size_t i = 0; i < count; ++i)
    pieces[i] = segments_[next_ + i].bytes();
  if (count > 0) pieces[0] = pieces[0].subspan(offset_);
  return count;
}

void Outbox::consume(std::size_t n) {
  while (next_ < segments_.size()) {
    const std::size_t left = segments_[next_].bytes().size() - offset_;
    const std::size_t step = std::min(n, left);
    n -= step;
    offset_ += step;
    if (step < left) break;
    // The segment goes before its completion is answered: from then on its bytes are not ours.
    const CompletionPtr done = std::move(segments_[next_].done);
    segments_[next_] = {};
    ++next_;
    offset_ = 0;
    if (done) done->answer(std::size_t{0});
  }
  CHECK(n == 0);
  if (empty()) {
    segments_ = {};  // an idle connection keeps no memory for this
    next_ = 0;
  }
}

void Outbox::abandon(const Error& error) {
  std::vector<Segment> dropped = std::exchange(segments_, {});
  next_ = 0;
  offset_ = 0;
  for (Segment& segment : dropped) {
    const CompletionPtr done = std::move(segment.done);
    segment = {};
    if (done) done->answer(fail(error));
  }
}

}  // namespace loam::net
