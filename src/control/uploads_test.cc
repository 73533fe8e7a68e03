// SPDX-License-Identifier: Apache-2.0
#include "control/uploads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/manifest.h"
#include "jobs/jobs_testing.h"
#include "object/memory_store.h"

namespace loam::control {
namespace {

using jobs::testing::code_of;
using jobs::testing::Held;
using jobs::testing::must;
using jobs::testing::World;
using ::testing::HasSubstr;

class UploadsTest : public ::testing::Test {
 protected:
  Held start(const Json& more) {
    world_.submit("ann", more);
    return world_.claim(world_.enrol());
  }

  Services services() { return {world_.db(), store_, world_.clock, world_.random}; }

  std::string put(const std::string& key, const std::string& bytes) {
    return must(object::put_bytes(store_, key, bytes)).etag;
  }

  jobs::Lease lease(const Held& held) {
    return must(world_.write([&](jobs::Operation& op) { return check_lease(op, held.ref); }));
  }

  // The body of the call that commits a set of one file.
  Json body(const std::string& set, std::int64_t step, const std::string& etag) {
    checkpoint::SetManifest manifest;
    manifest.step = step;
    manifest.name = "step-" + std::to_string(step);
    manifest.files.push_back({"w.bin", 0, 0644, ""});
    return {{"set", set},
            {"step", step},
            {"covered_us", 0},
            {"manifest", checkpoint::manifest_to_json(manifest)},
            {"etags", {etag}}};
  }

  Status commit(const Held& held, const std::string& set, std::int64_t step) {
    const std::string etag = put(jobs::set_prefix(lease(held), step, set) + "w.bin", "");
    return commit_checkpoint(services(), held.ref, body(set, step, etag));
  }

  std::vector<std::string> live() {
    std::vector<std::string> out;
    for (const db::Row& row : world_.rows("SELECT id FROM checkpoint_set WHERE state = 'committed' "
                                          "ORDER BY id")) {
      out.push_back(row.text(0));
    }
    return out;
  }

  World world_;
  object::MemoryStore store_;
};

TEST_F(UploadsTest, ASetIsCommittedOnceItsBytesAreThere) {
  const Held held = start(Json::object());
  const std::string prefix = jobs::set_prefix(lease(held), 5, "set-aaaa");
  const auto announce = [&](const std::string& etag) {
    return commit_checkpoint(services(), held.ref, body("set-aaaa", 5, etag));
  };
  const Status missing = announce("e");
  EXPECT_EQ(code_of(missing), ErrorCode::kConflict);
  EXPECT_THAT(missing.error().message, HasSubstr("was not uploaded"));
  const std::string longer = put(prefix + "w.bin", "x");
  EXPECT_EQ(code_of(announce(longer)), ErrorCode::kConflict);
  const std::string etag = put(prefix + "w.bin", "");
  EXPECT_EQ(code_of(announce(longer)), ErrorCode::kConflict);
  EXPECT_TRUE(live().empty());
  must(announce(etag));
  must(announce(etag));
  EXPECT_EQ(live(), (std::vector<std::string>{"set-aaaa"}));
}

TEST_F(UploadsTest, RetentionOrdersByStepAndKeepsTwoAtLeast) {
  const Held held = start({{"checkpoint", {{"path", "c"}, {"match", "(\\d+)"}, {"keep_last", 0}}}});
  must(commit(held, "set-00100", 100));
  must(commit(held, "set-00009", 9));
  EXPECT_EQ(live(), (std::vector<std::string>{"set-00009", "set-00100"}));
  must(commit(held, "set-00010", 10));
  EXPECT_EQ(live(), (std::vector<std::string>{"set-00010", "set-00100"}));
  must(commit(held, "set-01000", 1'000));
  EXPECT_EQ(live(), (std::vector<std::string>{"set-00100", "set-01000"}));
}

// Two sets of one step: a resumed attempt has saved again what the one before had saved.
TEST_F(UploadsTest, OfTwoSetsOfOneStepTheLaterCommittedIsKept) {
  const Held held = start(Json::object());
  must(commit(held, "set-first", 10));
  world_.pass(1'000);
  must(commit(held, "set-second", 10));
  world_.pass(1'000);
  must(commit(held, "set-third", 20));
  EXPECT_EQ(live(), (std::vector<std::string>{"set-second", "set-third"}));
}

TEST_F(UploadsTest, ASetOfALostLeaseIsRefused) {
  const Held held = start(Json::object());
  const std::string etag = put(jobs::set_prefix(lease(held), 5, "set-aaaa") + "w.bin", "");
  must(world_.release(held));
  world_.claim(world_.enrol());
  EXPECT_EQ(code_of(commit_checkpoint(services(), held.ref, body("set-aaaa", 5, etag))),
            ErrorCode::kLeaseLost);
  EXPECT_TRUE(live().empty());
}

TEST_F(UploadsTest, SetIdsAreNamesAndNotPaths) {
  const Held held = start(Json::object());
  for (const char* bad : {"", "short", "../../../../x", "UPPERCASE1", "has space"}) {
    EXPECT_EQ(code_of(commit_checkpoint(services(), held.ref, body(bad, 5, "e"))),
              ErrorCode::kInvalidArgument)
        << bad;
  }
  Json other = body("set-aaaa", 5, "e");
  other["step"] = 6;
  EXPECT_EQ(code_of(commit_checkpoint(services(), held.ref, other)), ErrorCode::kInvalidArgument);
}

TEST_F(UploadsTest, AnOutputThatIsMissingKeepsTheJobFromCompleting) {
  const Held held =
      start({{"sync", {{"after", {{{"from", "out/"}, {"to", "/users/ann/model"}}}}}}});
  const auto complete = [&](const std::string& etag) {
    const Json call{{"outputs", {{{"index", 0}, {"path", "w"}, {"size", 1}, {"etag", etag}}}}};
    return complete_job(services(), held.ref, call, world_.report(),
                        [](auto&, auto&, auto&) { return Status(); });
  };
  EXPECT_EQ(code_of(complete("e")), ErrorCode::kConflict);
  EXPECT_EQ(world_.status(held.claimed.job), "running");
  EXPECT_TRUE(world_.renew(held));
  const std::string etag = put(lease(held).prefix + "out/0/w", "x");
  must(complete(etag));
  must(complete(etag));
  EXPECT_EQ(world_.text("SELECT destination FROM output_file"), "users/ann/model/w");
}

}  // namespace
}  // namespace loam::control
