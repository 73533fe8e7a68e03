// SPDX-License-Identifier: Apache-2.0
#include "object/transfer_pool.h"

#include <utility>

namespace loam::object {

TransferPool::~TransferPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

void TransferPool::submit(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  if (tasks_.size() > idle_ && threads_.size() < max_threads_) {
    threads_.emplace_back([this] { work(); });
  }
  changed_.notify_one();
}

void TransferPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds ends outside the lock
    lock.lock();
  }
}

bool TransferPool::try_reserve_ahead(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (ahead_left_ < bytes) return false;
  ahead_left_ -= bytes;
  return true;
}

void TransferPool::release_ahead(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  ahead_left_ += bytes;
}

void TransferPool::reserve(std::int64_t bytes) {
  std::unique_lock lock(mutex_);
  // One part always fits, however large: below zero nobody else gets any.
  memory_freed_.wait(lock, [&] { return memory_left_ > 0; });
  memory_left_ -= bytes;
}

void TransferPool::release(std::int64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    memory_left_ += bytes;
  }
  memory_freed_.notify_all();
}

}  // namespace loam::object
