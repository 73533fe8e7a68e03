// SPDX-License-Identifier: Apache-2.0
#include "net/worker_lane.h"

#include <exception>

#include "base/check.h"
#include "base/log.h"

namespace loam::net {

namespace {

// Handlers report errors as results. What is thrown all the same (no memory, a bug in a library)
// must cost one request and not the process; its Responder is dropped and answers 500.
void run_guarded(const std::function<void()>& task) {
  try {
    task();
  } catch (const std::exception& e) {
    LOG_ERROR("an HTTP handler threw an exception: {}", e.what());
  }
}

}  // namespace

WorkerLane::WorkerLane(int threads, std::size_t max_queued) : max_queued_(max_queued) {
  CHECK(threads > 0 && max_queued > 0);
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([this] { run(); });
}

WorkerLane::~WorkerLane() {
  stop();
}

bool WorkerLane::submit(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || queue_.size() >= max_queued_) return false;
    queue_.push_back(std::move(task));
  }
  wake_.notify_one();
  return true;
}

void WorkerLane::stop() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(queue_);
  }
  wake_.notify_all();
  dropped.clear();  // outside the lock: dropping a task answers its request
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void WorkerLane::run() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
      if (stopped_) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    run_guarded(task);
  }
}

}  // namespace loam::net
