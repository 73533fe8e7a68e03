// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace loam::net {

// A fixed number of threads over a bounded queue. Any thread may submit.
class WorkerLane {
 public:
  WorkerLane(int threads, std::size_t max_queued);
  ~WorkerLane();
  WorkerLane(const WorkerLane&) = delete;
  WorkerLane& operator=(const WorkerLane&) = delete;

  // False, with the task dropped, when the queue is full or the lane has stopped.
  bool submit(std::function<void()> task);
  // Drops what is queued, lets running tasks end, joins. Idempotent; not from a task.
  void stop();

 private:
  void run();

  const std::size_t max_queued_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace loam::net
