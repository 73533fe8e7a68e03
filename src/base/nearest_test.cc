// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace loam {
namespace {

constexpr std::array<std::string_view, 4> kKeys{"command", "arguments", "environment", "pool"};

TEST(NearestTest, FindsWhatWasMeant) {
  EXPECT_EQ(nearest_name("comand", kKeys), "command");
  EXPECT_EQ(nearest_name("argumnts", kKeys), "arguments");
  EXPECT_EQ(nearest_name("enviroments", kKeys), "environment");
  EXPECT_EQ(nearest_name("pools", kKeys), "pool");
  EXPECT_EQ(nearest_name("pool", kKeys), "pool");
}

TEST(NearestTest, DoesNotGuessWildly) {
  EXPECT_FALSE(nearest_name("zzzzzzzzz", kKeys));
  EXPECT_FALSE(nearest_name("", kKeys));
  EXPECT_FALSE(nearest_name(std::string(100'000, 'a'), kKeys));
  EXPECT_FALSE(nearest_name("pool", {}));
}

}  // namespace
}  // namespace loam
