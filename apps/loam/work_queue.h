// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"

namespace loam::cli {

// Work that is found while it is done: threads take it in order, and who finds it waits while
// kMaxWaiting pieces do. After a failure no further piece begins. add() and finish() from one
// thread.
class WorkQueue {
 public:
  static constexpr std::size_t kMaxWaiting = 1'000;
  explicit WorkQueue(std::size_t threads);
  ~WorkQueue() { end(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // The first failure, if there was one: then `work` does not run.
  Status add(std::function<Status()> work);
  // Waits for all of it; the first failure.
  Status finish();

 private:
  void run();
  void end();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<Status()>> waiting_;
  Status first_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace loam::cli
