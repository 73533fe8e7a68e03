// SPDX-License-Identifier: Apache-2.0
#include "db/write_queue.h"

#include <algorithm>
#include <future>
#include <iterator>

namespace loam::db {

void WriteQueue::add(Operation operation, WriteOptions options, std::function<void(Status)> done) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_ && queue_.size() < max_queued_) {
      queue_.push_back({std::move(operation), options,
                        std::chrono::steady_clock::now() + options.may_wait, std::move(done),
                        Status()});
      wake_.notify_one();
      return;
    }
  }
  done(fail(ErrorCode::kResourceExhausted, "too many writes are waiting; try again shortly"));
}

Status WriteQueue::add_and_wait(Operation operation, WriteOptions options) {
  std::promise<Status> promise;
  std::future<Status> future = promise.get_future();
  add(std::move(operation), options,
      [&promise](Status status) { promise.set_value(std::move(status)); });
  return future.get();
}

void WriteQueue::serve(const std::function<void(std::vector<PendingWrite>& batch)>& commit) {
  std::vector<PendingWrite> batch;
  while (next_batch(batch)) {
    commit(batch);
    for (PendingWrite& pending : batch)
      pending.done(std::move(pending.outcome));
    batch.clear();
  }
}

bool WriteQueue::next_batch(std::vector<PendingWrite>& batch) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (queue_.empty()) {
      if (stopping_) return false;
      wake_.wait(lock);
      continue;
    }
    auto start_by = std::chrono::steady_clock::time_point::max();
    for (const PendingWrite& pending : queue_)
      start_by = std::min(start_by, pending.start_by);
    if (stopping_ || queue_.size() >= max_batch_ || start_by <= std::chrono::steady_clock::now()) {
      break;
    }
    wake_.wait_until(lock, start_by);
  }
  while (!queue_.empty() && batch.size() < max_batch_) {
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return true;
}

void WriteQueue::put_back(std::vector<PendingWrite> writes) {
  const std::lock_guard lock(mutex_);
  queue_.insert(queue_.begin(), std::make_move_iterator(writes.begin()),
                std::make_move_iterator(writes.end()));
}

void WriteQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
}

}  // namespace loam::db
