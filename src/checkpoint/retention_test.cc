// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

namespace loam::checkpoint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CommittedSet good(std::int64_t step) {
  return {std::to_string(step), step};
}
CommittedSet pinned(std::int64_t step) {
  return {std::to_string(step), step, true};
}
CommittedSet bad(std::int64_t step, SetState state = SetState::kBad) {
  return {std::to_string(step), step, false, state};
}
std::vector<std::string> choose(const std::vector<CommittedSet>& sets, std::int64_t keep_last) {
  return choose_sets_to_delete(sets, keep_last);
}

TEST(Retention, OrdersByNumberNotByTextOrArrival) {
  EXPECT_THAT(choose({good(900), good(1000), good(50), good(100)}, 2), ElementsAre("50", "100"));
}

TEST(Retention, NeverKeepsFewerThanTwo) {
  for (const std::int64_t keep_last : {-5, 0, 1, 2}) {
    EXPECT_THAT(choose({good(1), good(2), good(3)}, keep_last), ElementsAre("1")) << keep_last;
    EXPECT_THAT(choose({good(1), good(2)}, keep_last), IsEmpty());
  }
  EXPECT_THAT(choose({good(1), good(2), good(3)}, 3), IsEmpty());
  EXPECT_THAT(choose({}, 0), IsEmpty());
}

TEST(Retention, PinsAreKeptAndCountOnlyWhereTheyStand) {
  EXPECT_THAT(choose({pinned(1), good(2), good(3), good(4)}, 2), ElementsAre("2"));
  EXPECT_THAT(choose({good(1), good(2), pinned(3), good(4)}, 2), ElementsAre("1", "2"));
  EXPECT_THAT(choose({pinned(1), pinned(2), pinned(3)}, 0), IsEmpty());
}

TEST(Retention, SetsThatAreNotGoodDoNotCount) {
  // The newest is bad: the two good ones below it are all there is to go back to.
  EXPECT_THAT(choose({good(1), good(2), good(3), bad(4)}, 2), ElementsAre("1"));
  EXPECT_THAT(choose({good(1), good(2), bad(3, SetState::kSuspect), bad(4)}, 2), IsEmpty());
}

TEST(Retention, BadOnesGoOnceTwoGoodOnesAreNewer) {
  EXPECT_THAT(choose({bad(1), good(2)}, 2), IsEmpty());
  EXPECT_THAT(choose({bad(1), good(2), good(3)}, 5), ElementsAre("1"));
  EXPECT_THAT(choose({good(2), bad(3), good(4)}, 2), IsEmpty());
  EXPECT_THAT(choose({good(2), bad(3, SetState::kSuspect), good(4), good(5)}, 2),
              ElementsAre("2", "3"));
}

TEST(Retention, OfEqualStepsTheLaterCommitIsNewer) {
  const std::vector<CommittedSet> sets = {
      {"first", 7}, {"second", 7}, {"bad", 7, false, SetState::kBad}, {"third", 7}, {"fourth", 7}};
  EXPECT_THAT(choose(sets, 2), ElementsAre("first", "second", "bad"));
}

TEST(Retention, PromisesHoldForAnyHistory) {
  EXPECT_TRUE(rc::check([] {
    std::vector<CommittedSet> sets;
    const int count = *rc::gen::inRange(0, 20);
    for (int i = 0; i < count; ++i) {
      sets.push_back({std::to_string(i), *rc::gen::inRange<std::int64_t>(0, 12),
                      *rc::gen::weightedElement<bool>({{5, false}, {1, true}}),
                      *rc::gen::element(SetState::kGood, SetState::kGood, SetState::kSuspect,
                                        SetState::kBad)});
    }
    const auto keep_last = *rc::gen::inRange<std::int64_t>(-1, 6);
    const std::vector<std::string> ids = choose_sets_to_delete(sets, keep_last);
    const std::set<std::string> goes(ids.begin(), ids.end());
    std::vector<CommittedSet> left;
    for (const CommittedSet& set : sets) {
      if (!goes.contains(set.id)) left.push_back(set);
      RC_ASSERT(!set.pinned || !goes.contains(set.id));
    }
    const auto is_good = [](const CommittedSet& set) { return set.state == SetState::kGood; };
    const auto good_before = std::count_if(sets.begin(), sets.end(), is_good);
    const auto good_left = std::count_if(left.begin(), left.end(), is_good);
    RC_ASSERT(good_left >=
              std::min<std::int64_t>(good_before, std::max<std::int64_t>(keep_last, 2)));
    // Whatever goes is not above the two best that stay.
    for (const CommittedSet& set : sets) {
      if (!goes.contains(set.id)) continue;
      const auto above = std::count_if(left.begin(), left.end(), [&](const CommittedSet& other) {
        return is_good(other) && other.step >= set.step;
      });
      RC_ASSERT(above >= 2);
    }
    RC_ASSERT(choose_sets_to_delete(left, keep_last).empty());
  }));
}

}  // namespace
}  // namespace loam::checkpoint
