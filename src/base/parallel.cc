// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace loam {

Status run_parallel(std::size_t count, std::size_t threads,
                    const std::function<Status(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  Status first;
  const auto run = [&] {
    while (!failed) {
      const std::size_t index = next++;
      if (index >= count) return;
      Status status = work(index);
      if (status) continue;
      const std::lock_guard lock(mutex);
      if (first) first = std::move(status);
      failed = true;
    }
  };
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < std::min(threads, count); ++i)
      workers.emplace_back(run);
    run();
  }
  return first;
}

}  // namespace loam
