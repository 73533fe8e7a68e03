// SPDX-License-Identifier: Apache-2.0
#include "net/server_list.h"

#include <gtest/gtest.h>

namespace loam::net {
namespace {

TEST(ServerListTest, OneFailureMovesAllCallersOnOnce) {
  ServerList list("http://a:1/, http://b:2,http://c:3");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list.current(), "http://a:1");
  list.failed("http://a:1");
  list.failed("http://a:1");
  EXPECT_EQ(list.current(), "http://b:2");
  list.failed("http://b:2");
  list.failed("http://c:3");
  EXPECT_EQ(list.current(), "http://a:1");
}

TEST(ServerListTest, ASingleServerStays) {
  ServerList list("http://a:1");
  list.failed("http://a:1");
  EXPECT_EQ(list.current(), "http://a:1");
}

TEST(ServerListTest, AnAnswerIsNoReasonToMove) {
  EXPECT_TRUE(ServerList::worth_moving({ErrorCode::kUnavailable, ""}));
  EXPECT_FALSE(ServerList::worth_moving({ErrorCode::kLeaseLost, ""}));
  EXPECT_FALSE(ServerList::worth_moving({ErrorCode::kCanceled, ""}));
}

}  // namespace
}  // namespace loam::net
