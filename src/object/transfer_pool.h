// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace loam::object {

// The threads that move parts of large objects, and the memory that parts may take. Threads start
// when they are first needed. A task must not wait for another task; whoever submits bounds how
// many of its own are waiting. Any thread.
class TransferPool {
 public:
  // Half of the memory is for reading ahead, half for sending: what was read may have to wait until
  // something is sent, so the one must never wait for the other.
  TransferPool(std::size_t threads, std::int64_t memory_bytes)
      : max_threads_(threads),
        ahead_left_(memory_bytes / 2),
        memory_left_(memory_bytes - memory_bytes / 2) {}
  ~TransferPool();  // runs what was submitted
  TransferPool(const TransferPool&) = delete;
  TransferPool& operator=(const TransferPool&) = delete;

  void submit(std::function<void()> task);

  // Memory for reading ahead, until what was read is taken: false if there is none left, and then
  // the reader does without.
  bool try_reserve_ahead(std::int64_t bytes);
  void release_ahead(std::int64_t bytes);
  // Memory of a part that is about to be sent: waits for others to be sent. Only for bytes that go
  // on their way without further waiting, so that nobody waits for ever.
  void reserve(std::int64_t bytes);
  void release(std::int64_t bytes);

 private:
  void work();

  const std::size_t max_threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable memory_freed_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  std::int64_t ahead_left_;
  std::int64_t memory_left_;  // for sending
  bool stopping_ = false;
};

}  // namespace loam::object
