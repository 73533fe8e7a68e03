// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace loam::control {

// A background thread that runs `round` whenever it is poked, and at least once per `interval`.
// stop() waits for the round in progress; rounds are short or look at stopping().
class WorkerThread {
 public:
  WorkerThread(std::chrono::milliseconds interval, std::function<void()> round)
      : interval_(interval), round_(std::move(round)), thread_([this] { run(); }) {}
  ~WorkerThread() { stop(); }
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  void poke() {
    {
      const std::lock_guard lock(mutex_);
      poked_ = true;
    }
    wake_.notify_one();
  }
  bool stopping() {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      wake_.wait_for(lock, interval_, [this] { return poked_ || stopping_; });
      if (stopping_) break;
      poked_ = false;
      lock.unlock();
      round_();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool poked_ = false;
  bool stopping_ = false;
  std::chrono::milliseconds interval_;
  std::function<void()> round_;
  std::thread thread_;  // last, so that it starts when the rest is there
};

}  // namespace loam::control
