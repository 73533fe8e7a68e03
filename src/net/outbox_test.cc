// SPDX-License-Identifier: Apache-2.0
#include "net/outbox.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "net/event_queue.h"

namespace loam::net {
namespace {

// Writes of any size move all bytes in order and answer each piece once it has gone, not before.
RC_GTEST_PROP(OutboxProperty, KeepsOrderAndAnswersInTime, ()) {
  const auto pieces =
      *rc::gen::container<std::vector<std::string>>(rc::gen::arbitrary<std::string>());
  Outbox outbox;
  std::string expected;
  std::vector<PendingAnswer> answers(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    expected += pieces[i];
    if (i % 2 == 0) {
      outbox.push(pieces[i], answers[i].take_completion());
    } else {
      outbox.push_borrowed(std::as_bytes(std::span(pieces[i])), answers[i].take_completion());
    }
  }
  outbox.consume(0);
  std::string sent;
  while (!outbox.empty()) {
    std::array<std::span<const std::byte>, Outbox::kMaxGather> gathered;
    const std::size_t count = outbox.gather(gathered);
    RC_ASSERT(count > 0U);
    std::string all;
    for (std::size_t i = 0; i < count; ++i) {
      all.append(reinterpret_cast<const char*>(gathered[i].data()), gathered[i].size());
    }
    const auto n = *rc::gen::inRange<std::size_t>(1, all.size() + 1);
    sent += all.substr(0, n);
    outbox.consume(n);
  }
  RC_ASSERT(sent == expected);
  for (PendingAnswer& answer : answers)
    RC_ASSERT(answer.wait().has_value());
}

TEST(OutboxTest, AbandoningAnswersEveryone) {
  Outbox outbox;
  PendingAnswer first;
  PendingAnswer second;
  outbox.push("abc", first.take_completion());
  outbox.push("", second.take_completion());
  outbox.consume(1);
  outbox.abandon(Error{ErrorCode::kDeadlineExceeded, "late"});
  EXPECT_TRUE(outbox.empty());
  EXPECT_EQ(first.wait().error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(second.wait().error().code, ErrorCode::kDeadlineExceeded);
}

TEST(CompletionTest, DroppingItIsAnAnswer) {
  PendingAnswer pending;
  pending.take_completion().reset();
  EXPECT_EQ(pending.wait().error().code, ErrorCode::kUnavailable);
}

TEST(EventQueueTest, CountsWhatIsOnItsWay) {
  EventQueue queue;
  const std::string half(EventQueue::kMaxBytes / 2, 'x');
  EXPECT_EQ(queue.add(half), EventQueue::Added::kQueued);  // the first take is due anyway
  EXPECT_EQ(queue.take().bytes.size(), half.size());
  EXPECT_EQ(queue.add(half), EventQueue::Added::kQueued);
  EXPECT_EQ(queue.add("y"), EventQueue::Added::kOverflow);
  EXPECT_FALSE(queue.open());
  EXPECT_EQ(queue.add("z"), EventQueue::Added::kClosed);
  EXPECT_FALSE(queue.close());
}

TEST(EventQueueTest, WakesOnceAndEndsAfterTheLastEvent) {
  EventQueue queue;
  EXPECT_TRUE(queue.take().bytes.empty());
  EXPECT_EQ(queue.add("a"), EventQueue::Added::kWake);
  EXPECT_EQ(queue.add("b"), EventQueue::Added::kQueued);
  EXPECT_TRUE(queue.close());
  EXPECT_FALSE(queue.close());
  const EventQueue::Taken taken = queue.take();
  EXPECT_EQ(taken.bytes, "ab");
  EXPECT_TRUE(taken.end);
}

}  // namespace
}  // namespace loam::net
