// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace loam {
namespace {

TEST(RandomTest, ASeedGivesTheSequenceOfSplitmix64) {
  // The first values of the reference implementation for this seed.
  SeededRandom random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
  EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(RandomTest, BelowIsUniformAndInRange) {
  SeededRandom random(3);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i)
    ++counts.at(random.below(7));
  for (const int count : counts) {
    EXPECT_GT(count, 9'500);
    EXPECT_LT(count, 10'500);
  }
  EXPECT_EQ(random.below(1), 0U);
  for (int i = 0; i < 1'000; ++i) {
    const double unit = random.unit();
    ASSERT_GE(unit, 0);
    ASSERT_LT(unit, 1);
  }
}

TEST(RandomTest, IdsAreNamesAndTokensAreSecrets) {
  SystemRandom random;
  std::set<std::string> seen;
  for (int i = 0; i < 1'000; ++i) {
    const std::string id = random_id(random, "j-");
    ASSERT_EQ(id.size(), 22U);
    ASSERT_EQ(id.find_first_not_of("0123456789abcdefghjkmnpqrstvwxyz-"), std::string::npos);
    ASSERT_TRUE(seen.insert(id).second);
  }
  const std::string token = random_token(random, 16);
  EXPECT_EQ(token.size(), 32U);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token, random_token(random, 16));
}

}  // namespace
}  // namespace loam
