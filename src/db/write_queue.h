// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "db/database.h"

namespace loam::db {

// A write on its way to its commit.
struct PendingWrite {
  Operation operation;
  WriteOptions options;
  std::chrono::steady_clock::time_point start_by;
  std::function<void(Status)> done;
  Status outcome;
};

// The writes that wait for a database's writer thread. Any thread may add; one thread takes.
class WriteQueue {
 public:
  WriteQueue(std::size_t max_queued, std::size_t max_batch)
      : max_queued_(max_queued), max_batch_(max_batch) {}

  // Calls `done` at once, with kResourceExhausted, if the queue is full or stopped.
  void add(Operation operation, WriteOptions options, std::function<void(Status)> done);
  // The same, and waits for the outcome.
  Status add_and_wait(Operation operation, WriteOptions options);
  // The writer thread's loop: gives `commit` one batch after the other, which sets their outcomes,
  // and tells those who wait, until the queue is stopped and empty.
  void serve(const std::function<void(std::vector<PendingWrite>& batch)>& commit);
  // Puts writes that were taken back to the front, in their order.
  void put_back(std::vector<PendingWrite> writes);
  void stop();

 private:
  // Waits until some write may wait no longer, then takes what is there. False once the queue is
  // stopped and empty.
  bool next_batch(std::vector<PendingWrite>& batch);

  const std::size_t max_queued_;
  const std::size_t max_batch_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<PendingWrite> queue_;
  bool stopping_ = false;
};

}  // namespace loam::db
