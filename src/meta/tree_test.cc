// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "meta/ancestry.h"
#include "meta/meta_testing.h"

namespace loam::meta {
namespace {

using testing::code_of;
using testing::must;
using testing::World;

class TreeTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(world_.problems(), ""); }

  World world_;
};

TEST_F(TreeTest, APathIsFoundInOneCall) {
  world_.mkdir("/a");
  world_.mkdir("/a/b");
  const std::int64_t file = world_.touch("/a/b/c");
  const Found found = must(world_.find("//a/b/c/"));
  EXPECT_EQ(found.attributes.inode, file);
  EXPECT_EQ(found.place.name, "c");
  EXPECT_EQ(found.used, 3U);
  EXPECT_EQ(world_.at("/"), kRootInode);
  EXPECT_EQ(code_of(world_.find("/a/x/c")), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(world_.find("/a/b/c/d")), ErrorCode::kNotDirectory);
  EXPECT_EQ(code_of(world_.find("/a/../a")), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(world_.find("/" + std::string(256, 'x'))), ErrorCode::kTooLarge);
  EXPECT_EQ(must(world_.read([&](db::Session& s) { return path_of(s, file); })), "/a/b/c");
}

TEST_F(TreeTest, ASymbolicLinkOnTheWayIsReported) {
  world_.mkdir("/real");
  world_.touch("/real/f");
  const std::int64_t link = must(world_.write([](Operation& op) {
                              return make_symlink(op, {kRootInode, "s"}, "real", {});
                            })).inode;
  const Found found = must(world_.find("/s/f"));
  EXPECT_EQ(found.attributes.inode, link);
  EXPECT_EQ(found.used, 1U);
  EXPECT_EQ(world_.stat("/s").type, InodeType::kSymlink);
  EXPECT_EQ(world_.stat("/s").size, 4);
  EXPECT_EQ(must(world_.read([&](db::Session& s) { return read_symlink(s, link); })), "real");
  const std::int64_t file = world_.at("/real/f");
  EXPECT_EQ(code_of(world_.read([&](db::Session& s) { return read_symlink(s, file); })),
            ErrorCode::kInvalidArgument);
  const auto make = [&](const std::string& target) {
    return code_of(world_.write([&](Operation& op) {
      return make_symlink(op, {kRootInode, "t"}, target, {});
    }));
  };
  EXPECT_EQ(make(""), ErrorCode::kInvalidArgument);
  EXPECT_EQ(make(std::string("a\0b", 3)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(make(std::string(4096, 'x')), ErrorCode::kTooLarge);
}

TEST_F(TreeTest, ExclusiveCreationSucceedsOnce) {
  const Place place{kRootInode, "f"};
  const auto create = [&](bool exclusive) {
    return world_.write([&](Operation& op) { return create_file(op, place, {}, exclusive); });
  };
  const Created first = must(create(true));
  EXPECT_FALSE(first.existed);
  EXPECT_EQ(code_of(create(true)), ErrorCode::kAlreadyExists);
  const Created again = must(create(false));
  EXPECT_TRUE(again.existed);
  EXPECT_EQ(again.attributes.inode, first.attributes.inode);
  world_.mkdir("/d");
  const Place directory{kRootInode, "d"};
  EXPECT_EQ(
      code_of(world_.write([&](Operation& op) { return create_file(op, directory, {}, false); })),
      ErrorCode::kIsDirectory);
}

TEST_F(TreeTest, NamesAreAnyBytesButSomeAreRefused) {
  for (const std::string& name :
       {std::string("a b"), std::string("\xff\xfe"), std::string("\x01"), std::string("...")}) {
    const Place place{kRootInode, name};
    must(world_.write([&](Operation& op) { return create_file(op, place, {}, true); }));
  }
  EXPECT_EQ(world_.names("/"), (std::vector<std::string>{"a b", "\xff\xfe", "\x01", "..."}));
  const auto create = [&](const std::string& name) {
    const Place place{kRootInode, name};
    return code_of(world_.write([&](Operation& op) { return create_file(op, place, {}, true); }));
  };
  EXPECT_EQ(create(""), ErrorCode::kInvalidArgument);
  EXPECT_EQ(create("."), ErrorCode::kInvalidArgument);
  EXPECT_EQ(create(".."), ErrorCode::kInvalidArgument);
  EXPECT_EQ(create("a/b"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(create(std::string("a\0", 2)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(create(".loam"), ErrorCode::kPermissionDenied);
  world_.mkdir("/d");
  world_.touch("/d/.loam");
}

TEST_F(TreeTest, DirectoriesCountTheirSubdirectories) {
  world_.mkdir("/a");
  world_.mkdir("/a/b");
  world_.mkdir("/a/c");
  world_.touch("/a/f");
  EXPECT_EQ(world_.stat("/a").nlink, 4);
  EXPECT_EQ(code_of(world_.rmdir("/a")), ErrorCode::kNotEmpty);
  EXPECT_EQ(code_of(world_.rmdir("/a/f")), ErrorCode::kNotDirectory);
  EXPECT_EQ(code_of(world_.unlink("/a/b")), ErrorCode::kIsDirectory);
  must(world_.rmdir("/a/b"));
  EXPECT_EQ(world_.stat("/a").nlink, 3);
  EXPECT_EQ(code_of(world_.rmdir("/a/b")), ErrorCode::kNotFound);
}

TEST_F(TreeTest, NothingIsMadeInARemovedDirectory) {
  const std::int64_t gone = world_.mkdir("/gone");
  must(world_.rmdir("/gone"));
  const Place place{gone, "f"};
  EXPECT_EQ(code_of(world_.write([&](Operation& op) { return create_file(op, place, {}, true); })),
            ErrorCode::kNotFound);
  EXPECT_EQ(code_of(world_.read([&](db::Session& s) { return readdir(s, gone, 0, 10); })),
            ErrorCode::kNotFound);
}

TEST_F(TreeTest, TheSetGroupIdBitIsInherited) {
  const Place place{kRootInode, "d"};
  const Attributes parent = must(world_.write(
      [&](Operation& op) { return make_directory(op, place, {.mode = 02775, .gid = 7}); }));
  const Attributes file = must(world_.write([&](Operation& op) {
                            return create_file(op, {parent.inode, "f"}, {.gid = 1}, true);
                          })).attributes;
  const Attributes child = must(world_.write([&](Operation& op) {
    return make_directory(op, {parent.inode, "e"}, {.mode = 0755});
  }));
  EXPECT_EQ(file.gid, 7);
  EXPECT_EQ(file.mode, 0644);
  EXPECT_EQ(child.gid, 7);
  EXPECT_EQ(child.mode, 02755);
}

TEST_F(TreeTest, AnInodeStaysUntilItsLastLinkIsGone) {
  world_.mkdir("/a");
  world_.mkdir("/b");
  const std::int64_t inode = world_.touch("/a/f");
  EXPECT_EQ(must(world_.link("/a/f", "/b/g")).nlink, 2);
  EXPECT_EQ(code_of(world_.link("/a/f", "/b/g")), ErrorCode::kAlreadyExists);
  EXPECT_EQ(code_of(world_.link("/a", "/b/h")), ErrorCode::kPermissionDenied);
  must(world_.unlink("/a/f"));
  EXPECT_EQ(world_.stat("/b/g").inode, inode);
  EXPECT_EQ(world_.stat("/b/g").nlink, 1);
  EXPECT_EQ(must(world_.read([&](db::Session& s) { return path_of(s, inode); })), "/b/g");
  must(world_.unlink("/b/g"));
  // Whoever has it open can still stat it, and nobody can give it a name again.
  EXPECT_EQ(must(world_.read([&](db::Session& s) { return getattr(s, inode); })).nlink, 0);
  const Place place{kRootInode, "back"};
  EXPECT_EQ(code_of(world_.write([&](Operation& op) { return link_inode(op, inode, place); })),
            ErrorCode::kNotFound);
}

TEST_F(TreeTest, AttributesAreSetOneByOne) {
  const std::int64_t file = world_.touch("/f");
  world_.wall_ms += 5;
  const Attributes before = world_.stat("/f");
  const Attributes after = must(world_.write(
      [&](Operation& op) { return setattr(op, file, {.mode = 0600, .uid = 5, .mtime_ns = 17}); }));
  EXPECT_EQ(after.mode, 0600);
  EXPECT_EQ(after.uid, 5);
  EXPECT_EQ(after.gid, before.gid);
  EXPECT_EQ(after.mtime_ns, 17);
  EXPECT_EQ(after.atime_ns, 17);
  EXPECT_EQ(after.ctime_ns, before.ctime_ns + 5'000'000);
  EXPECT_EQ(after.generation, before.generation);
  const auto set = [&](std::int64_t inode, const AttributeChange& change) {
    return code_of(world_.write([&](Operation& op) { return setattr(op, inode, change); }));
  };
  EXPECT_EQ(set(file, {.mode = 010000}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(set(file, {.size = -1}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(set(kRootInode, {.size = 1}), ErrorCode::kIsDirectory);
  EXPECT_EQ(set(999, {.mode = 0}), ErrorCode::kNotFound);
}

TEST_F(TreeTest, FifosAndSocketsAreInodesLikeOthers) {
  const Place place{kRootInode, "p"};
  const auto make = [&](InodeType type) {
    return world_.write([&](Operation& op) { return make_special(op, place, type, {}); });
  };
  EXPECT_EQ(must(make(InodeType::kFifo)).type, InodeType::kFifo);
  EXPECT_EQ(code_of(make(InodeType::kSocket)), ErrorCode::kAlreadyExists);
  EXPECT_EQ(code_of(make(InodeType::kDirectory)), ErrorCode::kInvalidArgument);
  must(world_.unlink("/p"));
  EXPECT_EQ(world_.number("SELECT count(*) FROM inode"), 1);
}

TEST_F(TreeTest, ListingGoesOnWhileOthersCreateAndRemove) {
  world_.mkdir("/d");
  const std::int64_t directory = world_.at("/d");
  for (int i = 0; i < 10; ++i)
    world_.touch("/d/f" + std::to_string(i));
  const auto page = [&](std::int64_t cookie) {
    return must(world_.read([&](db::Session& s) { return readdir(s, directory, cookie, 4); }));
  };
  const auto first = page(0);
  ASSERT_EQ(first.size(), 4U);
  must(world_.unlink("/d/f0"));
  must(world_.unlink("/d/f5"));
  world_.touch("/d/a-new-one");
  must(world_.rename("/d/f1", "/d/f1-renamed"));
  std::vector<std::string> rest;
  for (auto entries = page(first.back().cookie); !entries.empty();
       entries = page(entries.back().cookie)) {
    for (const ListedEntry& entry : entries)
      rest.push_back(entry.name);
  }
  EXPECT_EQ(rest,
            (std::vector<std::string>{"f4", "f6", "f7", "f8", "f9", "a-new-one", "f1-renamed"}));
  EXPECT_EQ(first[2].attributes.type, InodeType::kFile);
  const std::int64_t file = world_.at("/d/f4");
  EXPECT_EQ(code_of(world_.read([&](db::Session& s) { return readdir(s, file, 0, 4); })),
            ErrorCode::kNotDirectory);
}

}  // namespace
}  // namespace loam::meta
