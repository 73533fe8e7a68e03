// SPDX-License-Identifier: Apache-2.0
#include "object/faulty_store.h"

#include <gtest/gtest.h>

#include "object/memory_store.h"

namespace loam::object {
namespace {

TEST(FaultyStore, FailsTheCallsThatAreNamed) {
  MemoryStore memory;
  FaultyStore store(memory, 1);
  StoreFaults faults;
  faults.fail_calls = {2, 3};
  store.set_faults(faults);
  EXPECT_TRUE(put_bytes(store, "a", "x"));
  EXPECT_EQ(put_bytes(store, "b", "x").error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(store.head("a"));
  EXPECT_TRUE(store.head("a"));
  EXPECT_FALSE(memory.head("b"));
  EXPECT_EQ(store.calls(), 4U);
  EXPECT_EQ(store.calls(StoreOperation::kHead), 2U);
  EXPECT_EQ(store.injected(), 2U);
}

TEST(FaultyStore, MayLoseTheAnswerButKeepTheEffect) {
  MemoryStore memory;
  StoreFaults faults;
  faults.error_after = 1;
  FaultyStore store(memory, 1, faults);
  EXPECT_EQ(put_bytes(store, "a", "x").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(get_bytes(memory, "a", 10).value(), "x");
  EXPECT_FALSE(store.remove("a"));
  EXPECT_FALSE(memory.head("a"));
}

TEST(FaultyStore, TearsBodiesAndNeverShortensThemSilently) {
  MemoryStore memory;
  ASSERT_TRUE(put_bytes(memory, "a", std::string(1000, 'x')));
  StoreFaults faults;
  faults.torn_body = 1;
  FaultyStore store(memory, 7, faults);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(get_bytes(store, "a", 1000).error().code, ErrorCode::kUnavailable);
  }
}

TEST(FaultyStore, RepeatsItselfFromASeed) {
  const auto trace = [](std::uint64_t seed) {
    MemoryStore memory;
    StoreFaults faults;
    faults.error_before = 0.3;
    faults.error_after = 0.3;
    int slept = 0;
    faults.before_call = [&](StoreOperation, const std::string&) { ++slept; };
    FaultyStore store(memory, seed, faults);
    std::string text;
    for (int i = 0; i < 64; ++i)
      text += put_bytes(store, "k", "x") ? '+' : '-';
    EXPECT_EQ(slept, 64);
    return text;
  };
  EXPECT_EQ(trace(5), trace(5));
  EXPECT_NE(trace(5), trace(6));
  EXPECT_NE(trace(5).find('+'), std::string::npos);
}

}  // namespace
}  // namespace loam::object
