// SPDX-License-Identifier: Apache-2.0
#include "loam/work_queue.h"

namespace loam::cli {

WorkQueue::WorkQueue(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this] { run(); });
}

Status WorkQueue::add(std::function<Status()> work) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.size() < kMaxWaiting || !first_; });
  if (!first_) return first_;
  waiting_.push_back(std::move(work));
  changed_.notify_all();
  return {};
}

Status WorkQueue::finish() {
  end();
  return first_;
}

void WorkQueue::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void WorkQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.notify_all();
    if (!first_) continue;
    lock.unlock();
    Status status = work();
    lock.lock();
    if (!status && first_) {
      first_ = std::move(status);
      changed_.notify_all();
    }
  }
}

}  // namespace loam::cli
