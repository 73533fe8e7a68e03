// SPDX-License-Identifier: Apache-2.0
#include "control/file_content.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "control/namespace_testing.h"
#include "meta/object.h"
#include "meta/policy.h"
#include "meta/rename.h"
#include "meta/setattr.h"
#include "meta/unlink.h"

namespace loam::control {
namespace {

using testing::code_of;
using testing::must;
using testing::NamespaceWorld;

class FileContentTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(world_.problems(), ""); }
  std::int64_t count(std::string_view state) {
    return world_.jobs_world.number(
        fmt::format("SELECT count(*) FROM object WHERE state IN ({})", state));
  }
  std::int64_t inode(const std::string& path) { return must(world_.find(path)).attributes->inode; }

  NamespaceWorld world_;
};

TEST_F(FileContentTest, WhatIsPutIsRead) {
  const PutDone done = must(world_.put("/f", "hello"));
  EXPECT_TRUE(done.created);
  EXPECT_EQ(done.attributes.size, 5);
  EXPECT_EQ(done.attributes.generation, 1);
  EXPECT_EQ(must(world_.get("/f")), "hello");
  EXPECT_EQ(must(world_.get("/f", {1, 3})), "ell");
  EXPECT_EQ(must(world_.get("/f", {5, -1})), "");
  EXPECT_EQ(world_.keys(), "f\n");
}

TEST_F(FileContentTest, NewContentReplacesTheOldUnderAnotherKey) {
  must(world_.put("/f", "one"));
  const PutDone done = must(world_.put("/f", "second"));
  EXPECT_FALSE(done.created);
  EXPECT_EQ(done.attributes.generation, 2);
  EXPECT_EQ(must(world_.get("/f")), "second");
  EXPECT_EQ(must(object::get_bytes(world_.memory, "f", 100)), "one");
}

TEST_F(FileContentTest, AnEmptyBodyIsAnEmptyFile) {
  must(world_.put("/f", ""));
  EXPECT_EQ(must(world_.get("/f")), "");
  must(world_.put("/f", "x"));
  must(world_.put("/f", ""));
  EXPECT_EQ(must(world_.find("/f")).attributes->size, 0);
}

TEST_F(FileContentTest, AKeyThatTheStoreHasAlreadyIsLeftAlone) {
  must(object::put_bytes(world_.memory, "f", "somebody else's"));
  must(world_.put("/f", "mine"));
  EXPECT_EQ(must(world_.get("/f")), "mine");
  EXPECT_EQ(must(object::get_bytes(world_.memory, "f", 100)), "somebody else's");
}

TEST_F(FileContentTest, AKeyThatIsTakenMeanwhileIsNotOverwritten) {
  bool put_theirs = false;
  const auto body = [&, done = false](std::span<std::byte> out) mutable -> Result<std::size_t> {
    if (!put_theirs) must(object::put_bytes(world_.memory, "f", "theirs"));
    put_theirs = true;
    if (std::exchange(done, true)) return 0;
    out[0] = std::byte{'m'};
    return 1;
  };
  EXPECT_EQ(code_of(put_content(world_.services, world_.session, NamespaceWorld::at("/f"), body)),
            ErrorCode::kUnavailable);
  EXPECT_EQ(must(object::get_bytes(world_.memory, "f", 100)), "theirs");
  EXPECT_FALSE(world_.find("/f").has_value());
  must(world_.put("/f", "mine"));
  EXPECT_EQ(must(world_.get("/f")), "mine");
}

TEST_F(FileContentTest, ABodyThatFailsChangesNothing) {
  must(world_.put("/f", "old"));
  const object::Source broken = [](std::span<std::byte>) -> Result<std::size_t> {
    return fail(ErrorCode::kUnavailable, "the client went away");
  };
  EXPECT_EQ(code_of(put_content(world_.services, world_.session, NamespaceWorld::at("/f"), broken)),
            ErrorCode::kUnavailable);
  PutContent wrong = NamespaceWorld::at("/f");
  wrong.crc32c = "00000000";
  EXPECT_EQ(code_of(world_.put(wrong, "new")), ErrorCode::kUnprocessable);
  wrong.crc32c = "e3069283";
  EXPECT_EQ(must(world_.get("/f")), "old");
  EXPECT_EQ(count("1"), 0);
  must(world_.put(wrong, "123456789"));
  EXPECT_EQ(must(world_.get("/f")), "123456789");
}

TEST_F(FileContentTest, ConditionsHoldAtTheCommit) {
  PutContent exclusive = NamespaceWorld::at("/f");
  exclusive.exclusive = true;
  must(world_.put(exclusive, "a"));
  EXPECT_EQ(code_of(world_.put(exclusive, "b")), ErrorCode::kAlreadyExists);
  PutContent based = NamespaceWorld::at("/f");
  based.if_generation = 1;
  // Another writer comes between.
  bool overtaken = false;
  const auto body = [&](std::span<std::byte>) -> Result<std::size_t> {
    if (!std::exchange(overtaken, true)) must(world_.put("/f", "c"));
    return 0;
  };
  EXPECT_EQ(code_of(put_content(world_.services, world_.session, based, body)),
            ErrorCode::kPreconditionFailed);
  EXPECT_EQ(must(world_.get("/f")), "c");
  based.if_generation = 2;
  must(world_.put(based, "d"));
  based.path = "/missing";
  EXPECT_EQ(code_of(world_.put(based, "e")), ErrorCode::kPreconditionFailed);
}

TEST_F(FileContentTest, P5_AFileThatIsMovedMeanwhileGetsItsContentThere) {
  const std::int64_t file = must(world_.put("/a", "old")).attributes.inode;
  const auto put_while = [&](const std::function<Status(meta::Operation&)>& change) {
    bool changed = false;
    must(put_content(world_.services, world_.session, NamespaceWorld::at("/a"),
                     [&](std::span<std::byte> out) -> Result<std::size_t> {
                       if (std::exchange(changed, true)) return 0;
                       must(world_.write(change));
                       out[0] = std::byte{'n'};
                       return 1;
                     }));
  };
  const meta::Place a{meta::kRootInode, "a"};
  const meta::Place b{meta::kRootInode, "b"};
  put_while([&](meta::Operation& op) { return meta::rename_entry(op, a, b); });
  EXPECT_FALSE(world_.find("/a").has_value());
  EXPECT_EQ(must(world_.get("/b")), "n");
  EXPECT_EQ(inode("/b"), file);
  // One that is removed does not take the new content with it.
  must(world_.write([&](meta::Operation& op) { return meta::rename_entry(op, b, a); }));
  put_while([&](meta::Operation& op) { return meta::unlink_entry(op, a); });
  EXPECT_EQ(must(world_.get("/a")), "n");
  EXPECT_NE(inode("/a"), file);
}

TEST_F(FileContentTest, WhatIsRefusedAtTheEndIsRefusedBeforeTheBodyArrives) {
  must(world_.write([](meta::Operation& op) -> Status {
    const auto made = TRY(meta::make_directory(op, {meta::kRootInode, "d"}, {}));
    return meta::set_quota(op, {.directory = made.inode, .max_bytes = 10});
  }));
  bool asked = false;
  const auto body = [&](std::span<std::byte>) -> Result<std::size_t> {
    asked = true;
    return 0;
  };
  const auto refused = [&](PutContent request) {
    return code_of(put_content(world_.services, world_.session, request, body));
  };
  EXPECT_EQ(refused(NamespaceWorld::at("/d")), ErrorCode::kIsDirectory);
  EXPECT_EQ(refused(NamespaceWorld::at("/x/y")), ErrorCode::kNotFound);
  EXPECT_EQ(refused(NamespaceWorld::at("/.loam")), ErrorCode::kPermissionDenied);
  PutContent large = NamespaceWorld::at("/d/f");
  large.length = 11;
  EXPECT_EQ(refused(large), ErrorCode::kQuotaExceeded);
  PutContent denied = NamespaceWorld::at("/f");
  denied.may_write = [](const std::string&) -> Status {
    return fail(ErrorCode::kPermissionDenied, "no");
  };
  EXPECT_EQ(refused(denied), ErrorCode::kPermissionDenied);
  EXPECT_FALSE(asked);
  EXPECT_EQ(world_.keys(), "");
}

TEST_F(FileContentTest, DirectoriesAboveAreMadeIfAsked) {
  PutContent request = NamespaceWorld::at("/a/b/f");
  request.parents = true;
  must(world_.put(request, "x"));
  EXPECT_EQ(must(world_.get("/a/b/f")), "x");
  EXPECT_EQ(world_.keys(), "a/b/f\n");
}

TEST_F(FileContentTest, ASessionThatIsOverIsReplaced) {
  must(world_.put("/f", "a"));
  world_.jobs_world.exec("UPDATE lease_clock SET ms = ms + 1000000");
  EXPECT_EQ(code_of(world_.put("/f", "b")), ErrorCode::kUnavailable);
  EXPECT_EQ(must(world_.get("/f")), "a");
  must(world_.put("/f", "c"));
  EXPECT_EQ(must(world_.get("/f")), "c");
}

TEST_F(FileContentTest, AHoleReadsAsZeros) {
  must(world_.put("/f", "abc"));
  must(world_.write(
      [&](meta::Operation& op) { return meta::setattr(op, inode("/f"), {.size = 200'000}); }));
  const std::string all = must(world_.get("/f"));
  EXPECT_EQ(all, "abc" + std::string(199'997, '\0'));
  EXPECT_EQ(must(world_.get("/f", {2, 3})), std::string("c\0\0", 3));
  EXPECT_EQ(must(world_.get("/f", {100, 7})), std::string(7, '\0'));
}

TEST_F(FileContentTest, AFileOfManyBlocksIsReadFromAnywhere) {
  std::string bytes(2 * kBlockBytes + 1'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i * 2'654'435'761U >> 13);
  must(world_.put("/f", bytes));
  EXPECT_EQ(must(world_.get("/f")), bytes);
  const std::int64_t from = kBlockBytes - 10;
  EXPECT_EQ(must(world_.get("/f", {from, kBlockBytes + 20})),
            bytes.substr(static_cast<std::size_t>(from), kBlockBytes + 20));
}

TEST_F(FileContentTest, C3_WhatWasOverwrittenInTheStoreIsNoContent) {
  must(world_.put("/f", "ten bytes!"));
  must(object::put_bytes(world_.memory, "f", std::string(100, 'x')));
  EXPECT_EQ(code_of(world_.get("/f")), ErrorCode::kConflict);
  must(world_.put("/f", "anew"));
  EXPECT_EQ(must(world_.get("/f")), "anew");
}

TEST_F(FileContentTest, C4_WhatWasRemovedFromTheStoreIsNotFound) {
  must(world_.put("/f", "x"));
  must(world_.memory.remove("f"));
  EXPECT_EQ(code_of(world_.get("/f")), ErrorCode::kNotFound);
}

TEST_F(FileContentTest, ABlockThatDoesNotMatchItsChecksumIsNoContent) {
  must(world_.put("/f", "right"));
  // The same version by its ETag, with other bytes.
  must(object::put_bytes(world_.memory, "f", "wrong"));
  const std::string etag = must(world_.memory.head("f")).etag;
  world_.jobs_world.exec("UPDATE object SET etag = ?", etag);
  EXPECT_EQ(code_of(world_.get("/f")), ErrorCode::kDataCorrupt);
  EXPECT_EQ(must(world_.get("/f", {1, 2})), "ro");
}

}  // namespace
}  // namespace loam::control
