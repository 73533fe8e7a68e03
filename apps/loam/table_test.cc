// SPDX-License-Identifier: Apache-2.0
#include "loam/table.h"

#include <gmock/gmock.h>

#include "loam/progress_bar.h"
#include "loam/time_text.h"

namespace loam::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TableTest, ColumnsAreAsWideAsTheirWidestCell) {
  Table table({{"ID"}, {"STEP", Align::kRight}, {"NODE"}});
  table.add({{"j-1"}, {"5"}, {"gpu-7"}});
  table.add({{"j-long"}, {"12345"}, {""}});
  EXPECT_EQ(table.render(false),
            "ID       STEP  NODE\n"
            "j-1         5  gpu-7\n"
            "j-long  12345  -\n");
  EXPECT_THAT(table.render(false, "  "), HasSubstr("\n  j-1 "));
}

TEST(TableTest, ColoursDoNotChangeTheWidths) {
  Table table({{"S"}, {"X"}});
  table.add({{"failed", Style::kBad}, {"1"}});
  const std::string text = table.render(true);
  EXPECT_THAT(text, HasSubstr("\x1b[31mfailed\x1b[0m  1\n"));
  EXPECT_THAT(table.render(false), Not(HasSubstr("\x1b")));
}

TEST(TableTest, WhatUsersWriteCannotControlTheTerminal) {
  Table table({{"NAME"}, {"X"}});
  table.add({{"a\x1b[2Jb\n"}, {"größe"}});
  table.add({{"b"}, {"grosse"}});
  const std::string text = table.render(false);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_THAT(text, HasSubstr("größe"));
}

TEST(TableTest, WidthsCountCharactersNotBytes) {
  Table table({{"A"}, {"B"}});
  table.add({{"üü"}, {"1"}});
  table.add({{"xyz"}, {"2"}});
  EXPECT_EQ(table.render(false), "A    B\nüü   1\nxyz  2\n");
}

TEST(TableTest, Bars) {
  EXPECT_EQ(bar_text(0, 10), "");
  EXPECT_EQ(bar_text(0.001, 10), "#");
  EXPECT_EQ(bar_text(0.5, 10), "#####");
  EXPECT_EQ(bar_text(1.7, 10), "##########");
}

TEST(ProgressTextTest, RateAndTimeLeft) {
  const std::string half = progress_text("up", 1 << 20, 2 << 20, std::chrono::seconds(2));
  EXPECT_THAT(half, HasSubstr(" 50%  1.0 MiB of 2.0 MiB  512.0 KiB/s  2.0 s left"));
  const std::string all = progress_text("up", 2 << 20, 2 << 20, std::chrono::seconds(2));
  EXPECT_THAT(all, HasSubstr("100%"));
  EXPECT_THAT(all, Not(HasSubstr("left")));
  EXPECT_THAT(progress_text("up", 0, 0, std::chrono::seconds(0)), HasSubstr("100%"));
}

TEST(TimeTextTest, TimesAndAges) {
  EXPECT_EQ(age_text("1970-01-01T00:00:00Z", 59'000), "59 s ago");
  EXPECT_EQ(age_text("1970-01-01T00:00:00Z", 3'600'000), "60 min ago");
  EXPECT_EQ(age_text("1970-01-01T00:00:00Z", 30 * 3'600'000LL), "30 h ago");
  EXPECT_EQ(age_text("1970-01-01T00:00:10Z", 0), "now");
  EXPECT_EQ(age_text("?", 0), "?");
  EXPECT_EQ(clock_text("2026-11-30T15:30:01Z"), "15:30:01");
  EXPECT_EQ(clock_text(""), "--:--:--");
  EXPECT_EQ(clock_text("6-11-30T15:30:08Z"), "--:--:--");
}

}  // namespace
}  // namespace loam::cli
