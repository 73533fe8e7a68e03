// SPDX-License-Identifier: Apache-2.0
#include "jobs/duty.h"

#include "jobs/jobs_testing.h"

namespace loam::jobs {
namespace {

using testing::must;
using testing::World;

class DutyTest : public ::testing::Test {
 protected:
  bool take(const std::string& server, const std::string& duty = "publish") {
    return must(world_.write([&](Operation& op) { return take_duty(op, duty, server); }));
  }
  std::vector<std::string> keep(const std::string& server) {
    return must(world_.write([&](Operation& op) { return keep_duties(op, server); }));
  }
  World world_;
};

TEST_F(DutyTest, OneServerHoldsItUntilItsTimeIsOver) {
  EXPECT_TRUE(take("s-1"));
  EXPECT_TRUE(take("s-1"));
  EXPECT_FALSE(take("s-2"));
  EXPECT_TRUE(take("s-2", "sweep"));
  world_.pass(kDutyMs);
  EXPECT_FALSE(take("s-2"));
  world_.pass(1);
  EXPECT_TRUE(take("s-2"));
  EXPECT_FALSE(take("s-1"));
}

TEST_F(DutyTest, KeepingExtendsOnlyWhatIsHeld) {
  EXPECT_TRUE(take("s-1"));
  world_.pass(kDutyMs - 1);
  EXPECT_EQ(keep("s-1"), std::vector<std::string>{"publish"});
  world_.pass(kDutyMs);
  EXPECT_FALSE(take("s-2"));
  world_.pass(1);
  EXPECT_TRUE(keep("s-1").empty());
  EXPECT_TRUE(take("s-2"));
}

TEST_F(DutyTest, WhoLeavesMakesRoomAtOnce) {
  EXPECT_TRUE(take("s-1"));
  must(world_.write([](Operation& op) { return leave_duties(op, "s-1"); }));
  EXPECT_TRUE(take("s-2"));
}

}  // namespace
}  // namespace loam::jobs
