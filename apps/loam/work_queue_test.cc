// SPDX-License-Identifier: Apache-2.0
#include "loam/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>

namespace loam::cli {
namespace {

TEST(WorkQueueTest, AllThatIsAddedIsDone) {
  WorkQueue queue(4);
  std::atomic<int> done = 0;
  for (int i = 0; i < 5'000; ++i) {
    ASSERT_TRUE(queue.add([&]() -> Status {
      ++done;
      return {};
    }));
  }
  EXPECT_TRUE(queue.finish());
  EXPECT_EQ(done, 5'000);
}

TEST(WorkQueueTest, TheFirstFailureEndsIt) {
  WorkQueue queue(1);
  int begun = 0;
  Status added;
  for (int i = 0; i < 5'000 && added; ++i) {
    added = queue.add([&]() -> Status {
      return ++begun == 3 ? Status(fail(ErrorCode::kNotFound, "third")) : Status();
    });
  }
  const Status finished = queue.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().message, "third");
  EXPECT_EQ(begun, 3);
  EXPECT_FALSE(queue.add([]() -> Status { return {}; }));
}

TEST(WorkQueueTest, WhoAddsWaitsWhileMuchIsWaiting) {
  std::atomic<bool> go = false;
  std::atomic<std::size_t> added = 0;
  WorkQueue queue(1);
  std::jthread adding([&] {
    for (std::size_t i = 0; i < 2 * WorkQueue::kMaxWaiting; ++i) {
      ASSERT_TRUE(queue.add([&]() -> Status {
        go.wait(false);
        return {};
      }));
      ++added;
    }
  });
  while (added < WorkQueue::kMaxWaiting)
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(added, WorkQueue::kMaxWaiting + 1);
  go = true;
  go.notify_all();
  adding.join();
  EXPECT_TRUE(queue.finish());
}

}  // namespace
}  // namespace loam::cli
