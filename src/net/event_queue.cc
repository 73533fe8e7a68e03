// SPDX-License-Identifier: Apache-2.0
#include "net/event_queue.h"

#include <utility>

namespace loam::net {

EventQueue::Added EventQueue::add(std::string_view frame) {
  const std::lock_guard lock(mutex_);
  if (closed_ || disconnected_) return Added::kClosed;
  if (pending_.size() + in_flight_ + frame.size() > kMaxBytes) {
    disconnected_ = true;
    pending_ = {};
    return Added::kOverflow;
  }
  pending_ += frame;
  return std::exchange(awake_, true) ? Added::kQueued : Added::kWake;
}

EventQueue::Taken EventQueue::take() {
  const std::lock_guard lock(mutex_);
  Taken out;
  out.bytes = std::exchange(pending_, {});
  out.end = closed_;
  in_flight_ = out.bytes.size();
  // With bytes on their way the io thread comes back by itself once they are written.
  awake_ = in_flight_ > 0;
  return out;
}

bool EventQueue::close() {
  const std::lock_guard lock(mutex_);
  return !std::exchange(closed_, true) && !disconnected_;
}

void EventQueue::disconnect() {
  const std::lock_guard lock(mutex_);
  disconnected_ = true;
  pending_ = {};
}

bool EventQueue::has_room() const {
  const std::lock_guard lock(mutex_);
  return pending_.size() + in_flight_ < kMaxBytes / 2;
}

bool EventQueue::open() const {
  const std::lock_guard lock(mutex_);
  return !closed_ && !disconnected_;
}

}  // namespace loam::net
