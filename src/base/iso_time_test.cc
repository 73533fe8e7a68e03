// SPDX-License-Identifier: Apache-2.0
#include "base/iso_time.h"

#include <gtest/gtest.h>

namespace loam {
namespace {

TEST(IsoTime, ReadsTheTwoFormats) {
  EXPECT_EQ(parse_iso_time("2026-11-30T15:30:00Z"), 1'796'052'600'000);
  EXPECT_EQ(parse_http_date("Mon, 30 Nov 2026 15:30:00 GMT"), 1'796'052'600'000);
  EXPECT_EQ(parse_iso_time("2026-11-30T15:30:00.1239"), 1'796'052'600'123);
  EXPECT_EQ(parse_iso_time("2026-11-30T15:30:00+00:00"), 1'796'052'600'000);
  EXPECT_EQ(parse_iso_time("2028-02-29T00:00:00Z"), 1'835'395'200'000);
  for (const char* bad :
       {"", "2026", "2026-13-30T15:30:00Z", "Mon, 30 Foo 2026 15:30:00 GMT",
        // Days and hours that there are not, which used to become the next ones.
        "2026-02-29T00:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T15:-1:00Z",
        "Tue, 31 Nov 2026 15:30:00 GMT", "Mon, 30 Nov 2026 15:30:61 GMT", "1969-12-31T23:59:59Z",
        "2026-11-30T15:30:00+01:00", "2026-11-30T15:30:00Z2", "6-11-30T15:30:08Z"}) {
    EXPECT_FALSE(parse_iso_time(bad)) << bad;
    EXPECT_FALSE(parse_http_date(bad)) << bad;
  }
}

}  // namespace
}  // namespace loam
