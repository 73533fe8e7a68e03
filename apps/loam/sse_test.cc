// SPDX-License-Identifier: Apache-2.0
#include "loam/sse.h"

#include <gmock/gmock.h>

#include <vector>

namespace loam::cli {
namespace {

std::vector<SseEvent> parse(std::string_view bytes, std::size_t piece) {
  SseParser parser;
  std::vector<SseEvent> out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const Status fed = parser.feed(bytes.substr(at, piece), [&](const SseEvent& event) -> Status {
      out.push_back(event);
      return {};
    });
    EXPECT_TRUE(fed);
  }
  return out;
}

TEST(SseParserTest, EventsInAnyPieces) {
  constexpr std::string_view kText =
      "\xef\xbb\xbf: keep-alive\n\n"
      "id: 7\nevent: job.claimed\ndata: {\"a\":1}\n\n"
      "data:one\r\ndata: two\r\n\r\n"
      "event: empty\n\n"
      "id: 9\rdata\rdata:  x\r\r"
      "data: never finished";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, kText.size()}) {
    const auto events = parse(kText, piece);
    ASSERT_EQ(events.size(), 3U) << piece;
    EXPECT_EQ(events[0].id, "7");
    EXPECT_EQ(events[0].type, "job.claimed");
    EXPECT_EQ(events[0].data, "{\"a\":1}");
    EXPECT_EQ(events[1].id, "7");  // an id stays until the next
    EXPECT_EQ(events[1].type, "message");
    EXPECT_EQ(events[1].data, "one\ntwo");
    EXPECT_EQ(events[2].id, "9");
    EXPECT_EQ(events[2].data, "\n x");
  }
}

TEST(SseParserTest, UnknownFieldsAreSkipped) {
  const auto events = parse("retry: 10\nfoo: bar\nnocolon\ndata: a\n\n", 3);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].data, "a");
}

TEST(SseParserTest, TheFirstErrorStops) {
  SseParser parser;
  int seen = 0;
  const Status fed = parser.feed("data: a\n\ndata: b\n\n", [&](const SseEvent&) -> Status {
    ++seen;
    return fail(ErrorCode::kCanceled, "enough");
  });
  EXPECT_EQ(fed.error().code, ErrorCode::kCanceled);
  EXPECT_EQ(seen, 1);
}

TEST(SseParserTest, AnEventIsBounded) {
  SseParser parser;
  const std::string piece(1 << 20, 'x');
  Status status = parser.feed("data: ", [](const SseEvent&) { return Status(); });
  for (int i = 0; i < 9 && status; ++i)
    status = parser.feed(piece, [](const SseEvent&) { return Status(); });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace loam::cli
