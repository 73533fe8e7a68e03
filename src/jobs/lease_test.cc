// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>

#include "jobs/expire.h"
#include "jobs/jobs_testing.h"

namespace loam::jobs {
namespace {

using namespace std::chrono_literals;
using testing::code_of;
using testing::Held;
using testing::must;
using testing::World;

// 10 s of TTL.
const Json kShort{{"heartbeat_interval", 4}, {"lease_ttl", 10}};

TEST(LeaseTest, ARenewalExtendsByTheTtlFromNow) {
  World world;
  world.submit("ann", kShort);
  const Held held = world.claim(world.enrol());
  for (int i = 0; i < 10; ++i) {
    world.pass(9'000);
    EXPECT_EQ(must(world.renew(held)).ttl_ms, 10'000);
  }
  world.pass(10'000);
  EXPECT_EQ(world.job(held.claimed.job).at("phase"), "running");
  world.pass(1);
  EXPECT_EQ(world.job(held.claimed.job).at("phase"), "recovering");
}

TEST(LeaseTest, AnHourOnTheWallExpiresNothing) {
  World world;
  const std::string job = world.submit("ann", kShort);
  const Held held = world.claim(world.enrol());
  world.clock.jump_wall(1h);
  world.tick();
  world.pass(5'000);
  world.clock.jump_wall(-2h);
  world.pass(4'000);
  EXPECT_EQ(world.events(job, "lease.expired"), 0);
  EXPECT_TRUE(world.renew(held));
}

TEST(LeaseTest, AnOutageOfTheServerFreezesLeases) {
  World world;
  const std::string job = world.submit("ann", kShort);
  const Held held = world.claim(world.enrol());
  world.clock.advance(30min);
  world.tick();
  EXPECT_EQ(world.events(job, "lease.expired"), 0);
  EXPECT_TRUE(world.complete(held));
  EXPECT_EQ(world.status(job), "completed");
}

TEST(LeaseTest, AnExpiredLeaseComesBackUnlessItWasGivenAway) {
  World world;
  const std::string a = world.enrol();
  const std::string job = world.submit("ann", kShort);
  const Held held = world.claim(a);
  world.pass(11'000);
  EXPECT_EQ(world.number("SELECT count(*) FROM queue"), 1);
  // Until it is renewed, nothing that it would publish is accepted.
  EXPECT_EQ(code_of(world.commit(held, "set-1", 1)), ErrorCode::kConflict);
  EXPECT_EQ(code_of(world.complete(held)), ErrorCode::kConflict);
  must(world.renew(held));
  EXPECT_EQ(world.number("SELECT count(*) FROM queue"), 0);
  EXPECT_EQ(world.number("SELECT count(*) FROM lane"), 0);
  EXPECT_EQ(world.events(job, "lease.recovered"), 1);
  EXPECT_EQ(world.claimed_job(world.enrol()), "");
  EXPECT_EQ(world.job(job).at("num_interruptions"), 0);
  must(world.complete(held));
}

TEST(LeaseTest, TheLoserOfALeaseChangesNothing) {
  World world;
  const std::string job = world.submit("ann", kShort);
  const Held old = world.claim(world.enrol());
  world.pass(11'000);
  const Held held = world.claim(world.enrol());
  EXPECT_EQ(held.claimed.job, job);
  EXPECT_EQ(held.claimed.epoch, old.claimed.epoch + 1);
  const std::int64_t events = world.number("SELECT count(*) FROM event");
  EXPECT_EQ(code_of(world.renew(old)), ErrorCode::kLeaseLost);
  EXPECT_EQ(code_of(world.commit(old, "set-1", 1)), ErrorCode::kLeaseLost);
  EXPECT_EQ(code_of(world.complete(old)), ErrorCode::kLeaseLost);
  EXPECT_EQ(code_of(world.fail(old)), ErrorCode::kLeaseLost);
  EXPECT_EQ(code_of(world.release(old)), ErrorCode::kLeaseLost);
  EXPECT_EQ(world.number("SELECT count(*) FROM event"), events);
  EXPECT_EQ(world.job(job).at("num_interruptions"), 1);
  EXPECT_TRUE(world.renew(held));
}

TEST(LeaseTest, EveryPartOfTheReferenceCounts) {
  World world;
  world.submit();
  const Held held = world.claim(world.enrol());
  Held wrong = held;
  wrong.ref.token += "0";
  EXPECT_EQ(code_of(world.renew(wrong)), ErrorCode::kLeaseLost);
  wrong = held;
  wrong.ref.epoch = 0;
  EXPECT_EQ(code_of(world.renew(wrong)), ErrorCode::kLeaseLost);
  wrong = held;
  wrong.ref.node = world.enrol();
  EXPECT_EQ(code_of(world.renew(wrong)), ErrorCode::kLeaseLost);
  wrong = held;
  wrong.ref.job = "j-other";
  EXPECT_EQ(code_of(world.renew(wrong)), ErrorCode::kLeaseLost);
  EXPECT_TRUE(world.renew(held));
}

std::vector<Held> fleet(World& world, int nodes, std::int64_t slots) {
  std::vector<Held> held;
  for (int n = 0; n < nodes; ++n) {
    const std::string node = world.enrol({.slots = slots});
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      world.submit("ann", kShort);
      held.push_back(world.claim(node, slot));
    }
  }
  return held;
}

std::int64_t expired(World& world) {
  return world.number("SELECT count(*) FROM lease WHERE state = 'expired'");
}

TEST(LeaseTest, AMassExpiryGetsOneMoreTtlOnce) {
  World world;
  const std::vector<Held> held = fleet(world, 5, 4);
  world.pass(11'000);
  EXPECT_EQ(expired(world), 0);
  // One that is renewed is as before; the rest have had their one chance.
  must(world.renew(held[0]));
  world.pass(9'000);
  EXPECT_EQ(expired(world), 0);
  must(world.renew(held[0]));
  world.pass(2'000);
  EXPECT_EQ(expired(world), 19);
}

TEST(LeaseTest, FewNodesOrAMinorityAreNoMassExpiry) {
  World few;
  fleet(few, 3, 8);
  few.pass(11'000);
  EXPECT_EQ(expired(few), 24);
  World minority;
  const std::vector<Held> held = fleet(minority, 8, 4);
  minority.pass(6'000);
  for (std::size_t i = 0; i < 16; ++i)
    must(minority.renew(held[i]));
  minority.pass(5'000);
  EXPECT_EQ(expired(minority), 16);
}

// Renewals are spread over a heartbeat, so leases that one cause has silenced do not fall due in
// the same tick; all that have missed a renewal count.
TEST(LeaseTest, AMassExpiryIsSeenThoughRenewalsAreSpread) {
  World world;
  const std::vector<Held> held = fleet(world, 10, 2);
  for (std::size_t i = 0; i < held.size(); ++i) {
    world.pass(200);
    must(world.renew(held[i]));
  }
  world.pass(8'000);
  EXPECT_EQ(expired(world), 0);
  world.pass(4'000);
  EXPECT_EQ(expired(world), 0);
  world.pass(12'000);
  EXPECT_EQ(expired(world), 20);
}

TEST(NodeTest, ASilentNodeIsLostAndComesBack) {
  World world;
  const std::string node = world.enrol({.ttl_ms = 10'000});
  const auto state = [&] { return world.text("SELECT state FROM node WHERE id = ?", node); };
  const auto touch = [&] {
    must(world.write([&](Operation& op) { return touch_node(op, node, world.now_us()); }));
  };
  world.pass(9'000);
  touch();
  world.pass(10'000);
  EXPECT_EQ(state(), "active");
  world.pass(1'000);
  EXPECT_EQ(state(), "lost");
  EXPECT_EQ(world.number("SELECT paid_us - contact_us FROM node WHERE id = ?", node), 11'000'000);
  touch();
  EXPECT_EQ(state(), "active");
  EXPECT_EQ(world.number("SELECT count(*) FROM node WHERE paid_us IS NOT NULL"), 0);
}

TEST(NodeTest, ANodeLeavesOnlyWithoutALease) {
  World world;
  const std::string node = world.enrol();
  world.submit();
  const Held held = world.claim(node);
  const auto leave = [&](Operation& op) { return leave_node(op, node, world.now_us()); };
  EXPECT_EQ(code_of(world.write(leave)), ErrorCode::kConflict);
  must(world.release(held));
  must(world.write(leave));
  must(world.write(leave));
  EXPECT_EQ(world.number("SELECT count(*) FROM event WHERE type = 'node.left'"), 1);
  EXPECT_EQ(code_of(world.try_claim(node)), ErrorCode::kConflict);
}

// A node that was lost while it drained drains on when it returns, and is paid for again.
TEST(NodeTest, ADrainingNodeStaysSoThroughALoss) {
  World world;
  const std::string node = world.enrol({.ttl_ms = 10'000});
  must(world.write([&](Operation& op) { return drain_node(op, node); }));
  world.pass(12'000);
  must(world.write([&](Operation& op) { return touch_node(op, node, world.now_us()); }));
  EXPECT_EQ(world.text("SELECT state FROM node"), "draining");
}

TEST(NodeTest, DrainingALostNodeDoesNotFreezeItsPaidTime) {
  World world;
  const std::string node = world.enrol({.ttl_ms = 10'000});
  world.pass(12'000);
  must(world.write([&](Operation& op) { return drain_node(op, node); }));
  must(world.write([&](Operation& op) { return touch_node(op, node, world.now_us()); }));
  EXPECT_EQ(world.number("SELECT count(*) FROM node WHERE paid_us IS NOT NULL"), 0);
}

}  // namespace
}  // namespace loam::jobs
