// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>

namespace loam {
namespace {

TEST(ParallelTest, DoesEachOnceAndStopsAtAnError) {
  std::atomic<int> sum{0};
  EXPECT_TRUE(run_parallel(100, 8, [&](std::size_t i) -> Status {
    sum += static_cast<int>(i);
    return {};
  }));
  EXPECT_EQ(sum, 4'950);
  EXPECT_TRUE(run_parallel(
      0, 8, [](std::size_t) -> Status { return fail(ErrorCode::kInternal, "never called"); }));
  std::atomic<int> calls{0};
  const Status failed = run_parallel(1'000'000, 4, [&](std::size_t i) -> Status {
    ++calls;
    if (i == 10) return fail(ErrorCode::kNotFound, "ten");
    return {};
  });
  EXPECT_EQ(failed.error().message, "ten");
  EXPECT_LT(calls, 1'000'000);
}

}  // namespace
}  // namespace loam
