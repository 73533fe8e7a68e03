// SPDX-License-Identifier: Apache-2.0
#include "jobs/token.h"

#include <gtest/gtest.h>

#include "jobs/idempotency.h"
#include "jobs/jobs_testing.h"
#include "jobs/workdir.h"

namespace loam::jobs {
namespace {

using testing::code_of;
using testing::must;
using testing::World;

IssuedToken issue(World& world, const NewToken& token) {
  return must(world.write([&](Operation& op) { return issue_token(op, token); }));
}

Result<Principal> who(World& world, const std::string& secret) {
  return world.read([&](db::Session& s) { return authenticate(s, secret); });
}

TEST(TokenTest, ASecretIsKnownByItsHashOnlyAndCanBeRevoked) {
  World world;
  const IssuedToken user =
      issue(world, {.kind = TokenKind::kUser, .owner = "ann", .grants = default_grants("ann")});
  EXPECT_TRUE(user.secret.starts_with("loam_user_"));
  EXPECT_EQ(must(who(world, user.secret)).owner, "ann");
  EXPECT_EQ(world.number("SELECT count(*) FROM token WHERE hash = ? OR id = ? OR grants = ?",
                         user.secret, user.secret, user.secret),
            0);
  EXPECT_EQ(code_of(who(world, user.secret + "0")), ErrorCode::kUnauthenticated);
  EXPECT_EQ(code_of(who(world, "")), ErrorCode::kUnauthenticated);
  EXPECT_EQ(code_of(who(world, user.id)), ErrorCode::kUnauthenticated);
  const auto revoke = [&](Operation& op) { return revoke_token(op, user.id); };
  must(world.write(revoke));
  EXPECT_EQ(code_of(who(world, user.secret)), ErrorCode::kUnauthenticated);
  EXPECT_EQ(code_of(world.write(revoke)), ErrorCode::kNotFound);
}

TEST(TokenTest, GrantsReachWholeNamesOnly) {
  const Principal ann{.owner = "ann", .grants = default_grants("ann")};
  EXPECT_TRUE(ann.may_write("/users/ann"));
  EXPECT_TRUE(ann.may_write("/users/ann/models/x"));
  EXPECT_FALSE(ann.may_write("/users/anna"));
  EXPECT_FALSE(ann.may_read("/users/anna/x"));
  EXPECT_FALSE(ann.may_read("/users"));
  EXPECT_FALSE(ann.may_read("/"));
  EXPECT_TRUE(ann.may_read("/datasets/emoji"));
  EXPECT_FALSE(ann.may_write("/datasets/emoji"));
  const Principal admin{.kind = TokenKind::kAdmin};
  EXPECT_TRUE(admin.may_write("/anything"));
  const Principal slash{.grants = {{"/a/", true}}};
  EXPECT_TRUE(slash.may_write("/a"));
  EXPECT_TRUE(slash.may_write("/a/b"));
  EXPECT_FALSE(slash.may_write("/ab"));
  EXPECT_FALSE(Principal{}.may_read("/a"));
}

TEST(TokenTest, ListsNeitherNodesNorRevokedOnes) {
  World world;
  EXPECT_FALSE(must(world.read([](db::Session& s) { return has_admin(s); })));
  const IssuedToken admin = issue(world, {.kind = TokenKind::kAdmin, .owner = "root"});
  issue(world, {.kind = TokenKind::kNode, .pool = "p", .node = "n"});
  EXPECT_TRUE(must(world.read([](db::Session& s) { return has_admin(s); })));
  EXPECT_EQ(must(world.read([](db::Session& s) { return list_tokens(s); })).size(), 1U);
  must(world.write([&](Operation& op) { return revoke_token(op, admin.id); }));
  EXPECT_EQ(must(world.read([](db::Session& s) { return list_tokens(s); })).size(), 0U);
  EXPECT_FALSE(must(world.read([](db::Session& s) { return has_admin(s); })));
}

TEST(TokenTest, KindsHaveNames) {
  for (const TokenKind kind :
       {TokenKind::kAdmin, TokenKind::kUser, TokenKind::kPool, TokenKind::kNode}) {
    EXPECT_EQ(parse_token_kind(token_kind_name(kind)), kind);
  }
  EXPECT_FALSE(parse_token_kind("root"));
}

TEST(IdempotencyTest, AKeyGivesItsAnswerForSevenDays) {
  World world;
  const IdempotencyKey key{"ann", "POST /jobs", "k1", "body-a"};
  const auto earlier = [&](const IdempotencyKey& of) {
    return world.write([&](Operation& op) { return earlier_answer(op, of); });
  };
  EXPECT_FALSE(must(earlier(key)));
  must(world.write([&](Operation& op) { return remember_answer(op, key, "answer"); }));
  EXPECT_EQ(must(earlier(key)), "answer");
  EXPECT_EQ(code_of(earlier({"ann", "POST /jobs", "k1", "body-b"})), ErrorCode::kUnprocessable);
  EXPECT_FALSE(must(earlier({"bob", "POST /jobs", "k1", "body-b"})));
  EXPECT_FALSE(must(earlier({"ann", "POST /other", "k1", "body-b"})));
  world.exec("UPDATE lease_clock SET ms = ms + ?", kIdempotencyKeptMs);
  must(world.write([](Operation& op) { return forget_old_answers(op); }));
  EXPECT_EQ(must(earlier(key)), "answer");
  world.exec("UPDATE lease_clock SET ms = ms + 1");
  must(world.write([](Operation& op) { return forget_old_answers(op); }));
  EXPECT_FALSE(must(earlier(key)));
}

// The answer lives in the transaction of what it answers, so neither is there without the other.
TEST(IdempotencyTest, AFailedSubmitLeavesNoAnswer) {
  World world;
  const IdempotencyKey key{"ann", "POST /jobs", "k1", "body-a"};
  const Status failed = world.write([&](Operation& op) -> Status {
    TRY(submit_jobs(op, {{"ann", World::spec(), {}}}));
    TRY_VOID(remember_answer(op, key, "answer"));
    return fail(ErrorCode::kUnavailable, "the connection is gone");
  });
  EXPECT_FALSE(failed);
  EXPECT_EQ(world.number("SELECT count(*) FROM job"), 0);
  EXPECT_EQ(world.number("SELECT count(*) FROM idempotency"), 0);
}

TEST(WorkdirTest, IsNamedByItsContentAndConfined) {
  const std::string a(64, 'a');
  const auto parse = [](const Json& files) { return parse_workdir({{"files", files}}); };
  const auto files = must(parse({{{"path", "b"}, {"size", 1}, {"sha256", a}},
                                 {{"path", "a/x"}, {"size", 2}, {"mode", 0755}, {"sha256", a}}}));
  const auto same = must(parse({{{"path", "a/x"}, {"size", 2}, {"mode", 0755}, {"sha256", a}},
                                {{"path", "b"}, {"size", 1}, {"sha256", a}}}));
  EXPECT_EQ(workdir_id(files), workdir_id(same));
  for (const char* bad : {"", "/a", "../a", "a/../b", "a//b", ".", "a/.", "a/"}) {
    EXPECT_EQ(code_of(parse({{{"path", bad}, {"size", 1}, {"sha256", a}}})),
              ErrorCode::kInvalidArgument)
        << bad;
  }
  const Json one{{"path", "a"}, {"size", 1}, {"sha256", a}};
  EXPECT_EQ(code_of(parse(Json::array({one, one}))), ErrorCode::kInvalidArgument);
  const Json huge{{"path", "a"}, {"size", kMaxWorkdirBytes}, {"sha256", a}};
  EXPECT_EQ(code_of(parse(
                Json::array({one, {{"path", "h"}, {"size", kMaxWorkdirBytes}, {"sha256", a}}}))),
            ErrorCode::kTooLarge);
  EXPECT_TRUE(parse(Json::array({huge})));
}

TEST(WorkdirTest, OnlyWhoUploadedItMayUseIt) {
  World world;
  const std::vector<WorkdirFile> files{{"a", 1, 0644, std::string(64, 'a')}};
  must(world.write([&](Operation& op) { return add_workdir(op, "ann", files); }));
  must(world.write([&](Operation& op) { return add_workdir(op, "ann", files); }));
  const JobSpec spec = World::spec({{"workdir", workdir_id(files)}});
  const auto submit = [&](const char* owner) {
    return world.write([&](Operation& op) { return submit_jobs(op, {{owner, spec, {}}}); });
  };
  EXPECT_TRUE(submit("ann"));
  EXPECT_EQ(code_of(submit("bob")), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace loam::jobs
