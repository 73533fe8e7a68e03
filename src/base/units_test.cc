// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <gtest/gtest.h>

namespace loam {
namespace {

TEST(UnitsTest, BytesForPeople) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1'023), "1023 B");
  EXPECT_EQ(format_bytes(1'024), "1.0 KiB");
  EXPECT_EQ(format_bytes(kGiB + kGiB / 2), "1.5 GiB");
}

TEST(UnitsTest, BytesFromPeople) {
  EXPECT_EQ(parse_bytes("512"), 512);
  EXPECT_EQ(parse_bytes("512B"), 512);
  EXPECT_EQ(parse_bytes("64K"), 64 * kKiB);
  EXPECT_EQ(parse_bytes("100MiB"), 100 * kMiB);
  EXPECT_EQ(parse_bytes("1.5G"), kGiB + kGiB / 2);
  EXPECT_EQ(parse_bytes("2TB"), 2'048 * kGiB);
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("4096P"), std::int64_t{1} << 62);
  for (const char* bad : {"", "K", "-1", "1X", "1KK", "1Kib", "5000P", "nan", "inf", "1 K", "12z"})
    EXPECT_FALSE(parse_bytes(bad)) << bad;
}

TEST(UnitsTest, DurationsForPeople) {
  EXPECT_EQ(format_duration_us(850'000), "850 ms");
  EXPECT_EQ(format_duration_us(2'400'000), "2.4 s");
  EXPECT_EQ(format_duration_us(200'000'000), "3 min 20 s");
  EXPECT_EQ(format_duration_us(7'500'000'000), "2 h 05 min");
}

TEST(Units, WholeNumbers) {
  EXPECT_EQ(parse_whole_number("0"), 0);
  EXPECT_EQ(parse_whole_number("0042"), 42);
  EXPECT_EQ(parse_whole_number("9223372036854775807"), INT64_MAX);
  for (const char* bad : {"", "-1", "-0", "+1", " 1", "1 ", "1.0", "9223372036854775808", "x"}) {
    EXPECT_FALSE(parse_whole_number(bad)) << bad;
  }
}

}  // namespace
}  // namespace loam
