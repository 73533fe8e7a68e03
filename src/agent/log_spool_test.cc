// SPDX-License-Identifier: Apache-2.0
#include "agent/log_spool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "io/temp_directory.h"

namespace loam::agent {
namespace {

class LogSpoolTest : public ::testing::Test {
 protected:
  LogSpoolWriter writer(const LogLimits& limits = {}) {
    return LogSpoolWriter::create(directory_.path(), limits, clock_).value();
  }
  LogSpoolReader reader(std::int64_t from = 0) {
    return LogSpoolReader::open(directory_.path(), from).value();
  }
  std::string file() const { return directory_ / std::string(kSpoolFileName); }

  io::TempDirectory directory_;
  ManualClock clock_;
};

LogChunk take(LogSpoolReader& reader) {
  const auto chunk = reader.next();
  EXPECT_TRUE(chunk && *chunk);
  return chunk && *chunk ? **chunk : LogChunk{};
}

TEST_F(LogSpoolTest, IsReadWhileItIsWritten) {
  LogSpoolWriter out = writer();
  LogSpoolReader in = reader();
  EXPECT_FALSE(in.next().value());
  out.append("one\n");
  out.append("two\n");
  LogChunk chunk = take(in);
  EXPECT_EQ(chunk.text, "one\ntwo\n");
  EXPECT_EQ(chunk.offset, 0);
  EXPECT_EQ(chunk.first_wall_ms, clock_.wall_ms());
  EXPECT_FALSE(chunk.last);
  EXPECT_FALSE(in.next().value());
  out.append("three");
  out.finish(Json{{"code", 0}});
  chunk = take(in);
  EXPECT_EQ(chunk.text, "three");
  EXPECT_EQ(chunk.offset, 8);
  EXPECT_TRUE(chunk.last);
  EXPECT_TRUE(in.finished());
  EXPECT_EQ(in.end().value(), (Json{{"code", 0}}));
  EXPECT_FALSE(in.next().value());
}

TEST_F(LogSpoolTest, MarksWhatIsOverTheRate) {
  LogSpoolWriter out = writer({.bytes_per_second = 10, .burst_bytes = 20, .total_bytes = 1'000});
  LogSpoolReader in = reader();
  out.append("12345678\n12345678\n12345678\n");
  EXPECT_EQ(take(in).text, "12345678\n12345678\n");
  out.append("lost\n");
  EXPECT_EQ(out.tick(), 14);
  LogChunk chunk = take(in);
  EXPECT_EQ(chunk.text, "");
  EXPECT_EQ(chunk.gap_before, 14);
  clock_.advance(std::chrono::seconds(2));
  out.append("half a line\nafter\n");
  chunk = take(in);
  EXPECT_EQ(chunk.gap_before, 12);
  EXPECT_EQ(chunk.offset, 18 + 14 + 12);
  EXPECT_EQ(chunk.text, "after\n");
  EXPECT_EQ(out.tick(), 12);
}

TEST_F(LogSpoolTest, StopsAtTheTotal) {
  LogSpoolWriter out = writer({.bytes_per_second = 1'000, .burst_bytes = 1'000, .total_bytes = 10});
  out.append("123456\n123456\n");
  for (int i = 0; i < 100; ++i) {
    clock_.advance(std::chrono::seconds(1));
    out.append("123456\n");
    out.tick();
  }
  out.finish(Json::object());
  LogSpoolReader in = reader();
  LogChunk chunk = take(in);
  EXPECT_EQ(chunk.text, "123456\n");
  // What fitted of the second line is dropped with it or kept; nothing is counted twice.
  std::int64_t total = static_cast<std::int64_t>(chunk.text.size());
  while (!chunk.last) {
    chunk = take(in);
    total += chunk.gap_before + static_cast<std::int64_t>(chunk.text.size());
  }
  EXPECT_EQ(total, 102 * 7);
}

TEST_F(LogSpoolTest, ChunksAreBoundedAndCountEveryByte) {
  LogSpoolWriter out = writer({.burst_bytes = 10 * kMiB});
  std::string all;
  for (int i = 0; i < 100'000; ++i)
    all += "line " + std::to_string(i) + "\n";
  out.append(all);
  out.finish(Json::object());
  LogSpoolReader in = reader();
  std::string got;
  for (bool last = false; !last;) {
    const LogChunk chunk = take(in);
    EXPECT_LE(static_cast<std::int64_t>(chunk.text.size()), kMaxLogChunkBytes);
    EXPECT_EQ(chunk.offset, static_cast<std::int64_t>(got.size()));
    got += chunk.text;
    last = chunk.last;
  }
  EXPECT_EQ(got, all);
}

TEST_F(LogSpoolTest, StartsAtAnyOffset) {
  {
    LogSpoolWriter out = writer({.bytes_per_second = 1, .burst_bytes = 8, .total_bytes = 100});
    out.append("1234567\n");
    out.append("dropped\n");
    clock_.advance(std::chrono::seconds(8));
    out.append("after\n");
    out.finish(Json::object());
  }
  // "1234567\n", a gap of 8 and, because the first whole line is kept, of 6 more.
  LogSpoolReader whole = reader();
  EXPECT_EQ(take(whole).text, "1234567\n");
  const LogChunk end = take(whole);
  const std::int64_t length = end.offset + static_cast<std::int64_t>(end.text.size());
  for (std::int64_t from = 0; from <= length + 2; ++from) {
    LogSpoolReader in = reader(from);
    std::int64_t seen = 0;
    for (bool last = false; !last;) {
      const LogChunk chunk = take(in);
      EXPECT_EQ(chunk.offset - chunk.gap_before, std::max(from + seen, from));
      seen += chunk.gap_before + static_cast<std::int64_t>(chunk.text.size());
      last = chunk.last;
    }
    EXPECT_EQ(seen, std::max<std::int64_t>(length - from, 0)) << from;
  }
}

TEST_F(LogSpoolTest, ATornTailEndsTheLogOfADeadWriter) {
  {
    LogSpoolWriter out = writer();
    out.append("whole\n");
    out.append("torn\n");
  }
  std::ifstream original(file(), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(original), {});
  const std::size_t second = kSpoolMagic.size() + kSpoolHeaderBytes + 6;
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes.substr(0, cut);
    LogSpoolReader in = reader();
    const LogChunk chunk = take(in);
    EXPECT_EQ(chunk.text, cut < second ? "" : "whole\n") << cut;
    EXPECT_TRUE(chunk.last);
    EXPECT_FALSE(in.end().has_value());
  }
}

TEST_F(LogSpoolTest, AFlippedBitEndsTheLog) {
  {
    LogSpoolWriter out = writer();
    out.append("whole\n");
    out.append("flipped\n");
    out.append("never\n");
  }
  std::fstream damaged(file(), std::ios::binary | std::ios::in | std::ios::out);
  damaged.seekp(static_cast<std::streamoff>(kSpoolMagic.size() + 2 * kSpoolHeaderBytes + 6 + 3));
  damaged << "X";
  damaged.close();
  LogSpoolReader in = reader();
  const LogChunk chunk = take(in);
  EXPECT_EQ(chunk.text, "whole\n");
  EXPECT_TRUE(chunk.last);
}

TEST_F(LogSpoolTest, RefusesWhatIsNoSpool) {
  std::ofstream(file()) << "something else";
  LogSpoolReader in = reader();
  EXPECT_EQ(in.next().error().code, ErrorCode::kDataCorrupt);
}

TEST_F(LogSpoolTest, OneAttemptOneSpool) {
  const LogSpoolWriter out = writer();
  EXPECT_FALSE(LogSpoolWriter::create(directory_.path(), {}, clock_));
  io::TempDirectory empty;
  EXPECT_EQ(LogSpoolReader::open(empty.path()).error().code, ErrorCode::kNotFound);
}

TEST(LogLimiter, NeverKeepsMoreThanItsLimits) {
  LogLimiter limiter({.bytes_per_second = 1'000, .burst_bytes = 5'000, .total_bytes = 50'000}, 0);
  std::int64_t kept = 0;
  std::string line(99, 'x');
  line += '\n';
  for (std::int64_t ms = 0; ms < 100'000; ms += 10) {
    const auto admission = limiter.admit(line, ms * 1'000);
    EXPECT_LE(admission.skip + admission.keep, line.size());
    kept += static_cast<std::int64_t>(admission.keep);
    EXPECT_LE(kept, 5'000 + ms);
    EXPECT_LE(kept, 50'000);
  }
  EXPECT_GT(kept, 49'000);
  EXPECT_FALSE(limiter.exhausted() && kept < 50'000);
}

TEST(LogLimiter, KeepsOutputWithoutLines) {
  LogLimiter limiter({.bytes_per_second = 100, .burst_bytes = 100, .total_bytes = 1'000}, 0);
  const std::string blob(300, '\0');
  EXPECT_EQ(limiter.admit(blob, 0).keep, 100U);
  EXPECT_EQ(limiter.admit(blob, 10'000).keep, 0U);
  EXPECT_EQ(limiter.admit(blob, 1'000'000).keep, 100U);
}

}  // namespace
}  // namespace loam::agent
