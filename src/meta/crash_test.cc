// SPDX-License-Identifier: Apache-2.0
// A program that is killed at each durable write of each operation: what it had been told was done
// is done, the operation that was under way is done or not, and nothing is in between.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "db/dump.h"
#include "meta/collect.h"
#include "meta/loss.h"
#include "meta/meta_testing.h"

namespace loam::meta {
namespace {

using testing::must;
using testing::World;

constexpr const char* kDatabase = "LOAM_TEST_CRASH_DATABASE";

// The operations, one transaction each. They find what they need by path, so that each can be the
// first one after a restart.
class Script {
 public:
  explicit Script(db::Database& database) : database_(database) {}

  static constexpr int kSteps = 22;
  Status run(int step) {
    return database_.write([&](db::Session& session) -> Status {
      // The same numbers at each run of the step.
      SeededRandom random(static_cast<std::uint64_t>(step) + 1);
      Operation op{session, random, 1'000 + step, 1'700'000'000'000 + step};
      return perform(op, step);
    });
  }

 private:
  static Result<std::int64_t> at(Operation& op, const char* path) {
    return TRY(lookup_path(op.session, path)).attributes.inode;
  }
  template <typename T>
  static Status done(const Result<T>& result) {
    return result ? Status() : Status(fail(result.error()));
  }
  static Result<ObjectId> newest(Operation& op) {
    const auto row = TRY(op.session.row("SELECT number, nonce FROM object ORDER BY number DESC"));
    return ObjectId{row->integer(0), row->integer(1)};
  }
  static Status commit(Operation& op, std::int64_t base, std::int64_t size) {
    const ObjectId object = TRY(newest(op));
    Commit commit{.inode = TRY(at(op, "/a/f")), .base_generation = base, .object = object};
    commit.object_length = commit.size = size;
    commit.extents = {{0, size, object, 0}};
    commit.holders = {"n"};
    return done(commit_content(op, {"n", 1}, commit));
  }

  Status perform(Operation& op, int step) {
    const NodeRef ref{"n", 1};
    switch (step) {
      case 0:
        return done(begin_session(op, "n", 1'000'000));
      case 1:
        return done(make_directory(op, {kRootInode, "a"}, {}));
      case 2:
        return done(make_directory(op, {TRY(at(op, "/a")), "b"}, {}));
      case 3:
        return done(create_file(op, {TRY(at(op, "/a")), "f"}, {}, true));
      case 4:
      case 7:
        return done(reserve_object(op, ref, TRY(at(op, "/a/f"))));
      case 5:
        return commit(op, 0, 10);
      case 6: {
        const ObjectId object = TRY(newest(op));
        TRY(start_upload(op, ref, object));
        return finish_upload(op, ref, object, {});
      }
      case 8:
        return commit(op, 1, 20);
      case 9:
        return fold_all_usage(op);
      case 10:
        return done(link_inode(op, TRY(at(op, "/a/f")), {kRootInode, "l"}));
      case 11:
        return rename_entry(op, {TRY(at(op, "/a")), "b"}, {kRootInode, "c"});
      case 12:
        return rename_entry(op, {kRootInode, "c"}, {kRootInode, "l"}, RenameMode::kExchange);
      case 13:
        return unlink_entry(op, {TRY(at(op, "/a")), "f"});
      case 14:
        return done(lose_node(op, "n", 10));
      case 15:
        return done(setattr(op, TRY(at(op, "/c")), {.size = 3}));
      case 16:
        return unlink_entry(op, {kRootInode, "c"});
      case 17:
      case 19: {
        const ObjectId object = TRY(reserve_unbound(op, ref));
        return done(start_direct_upload(op, ref, object, "/a/p"));
      }
      case 18: {
        const ObjectId object = TRY(newest(op));
        const std::int64_t inode =
            TRY(create_file(op, {TRY(at(op, "/a")), "p"}, {}, true)).attributes.inode;
        TRY_VOID(bind_object(op, ref, object, inode));
        return done(commit_content(op, ref, World::whole_stored(inode, 0, object, 5)));
      }
      case 20:
        return abandon_object(op, ref, TRY(newest(op)));
      default:
        return done(collect_orphans(op, -1'000'000, 10));
    }
  }

  db::Database& database_;
};

std::unique_ptr<db::Database> open(const std::string& path) {
  auto database = must(db::open_sqlite({.path = path, .readers = 1}));
  must(migrate_schema(*database));
  return database;
}

std::string content(db::Database& database) {
  std::string out;
  must(db::dump(database, {{"meta", schema_version()}}, [&](const std::string& line) -> Status {
    out += line + "\n";
    return {};
  }));
  return out;
}

// Run by the other test as a program of its own, which is killed on the way.
TEST(CrashTest, DISABLED_Child) {
  const char* directory = std::getenv(kDatabase);
  ASSERT_NE(directory, nullptr);
  const auto database = open(std::string(directory) + "/db");
  Script script(*database);
  for (int step = 0; step < Script::kSteps; ++step) {
    must(script.run(step));
    std::ofstream(std::string(directory) + "/done") << step + 1;
  }
}

// The signal that ended it, or 0.
int run_child(const std::string& directory, int crash_at) {
  setenv(kDatabase, directory.c_str(), 1);
  setenv("LOAM_CRASH_AT_WRITE", std::to_string(crash_at).c_str(), 1);
  std::string program = "/proc/self/exe";
  std::string filter = "--gtest_filter=CrashTest.DISABLED_Child";
  std::string disabled = "--gtest_also_run_disabled_tests";
  std::string brief = "--gtest_brief=1";
  char* arguments[] = {program.data(), filter.data(), disabled.data(), brief.data(), nullptr};
  pid_t child = 0;
  CHECK(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) == 0);
  unsetenv(kDatabase);
  unsetenv("LOAM_CRASH_AT_WRITE");
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) return WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return 0;
}

TEST(CrashTest, AKillAtAnyWriteLeavesWholeOperations) {
  if (db::testing::TestDatabase::on_postgres()) {
    GTEST_SKIP() << "a program of its own opens a SQLite file";
  }
  std::string pattern =
      std::filesystem::exists("/dev/shm") ? "/dev/shm/loam-meta-XXXXXX" : "/tmp/loam-meta-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  std::vector<std::string> after;
  {
    const auto database = open(pattern + "/reference");
    Script script(*database);
    after.push_back(content(*database));
    for (int step = 0; step < Script::kSteps; ++step) {
      must(script.run(step));
      after.push_back(content(*database));
    }
  }
  int kills = 0;
  for (int crash_at = 1; !HasFailure(); ++crash_at) {
    const std::string directory = pattern + "/" + std::to_string(crash_at);
    std::filesystem::create_directory(directory);
    const int signal = run_child(directory, crash_at);
    std::size_t done = 0;
    std::ifstream(directory + "/done") >> done;
    const auto database = open(directory + "/db");
    const std::string found = content(*database);
    EXPECT_TRUE(found == after.at(done) ||
                (signal != 0 && done + 1 < after.size() && found == after.at(done + 1)))
        << "killed at write " << crash_at << ", after " << done << " operations";
    EXPECT_TRUE(
        must(database->read_value([](db::Session& s) { return check_namespace(s); })).empty())
        << crash_at;
    if (signal == 0) break;
    EXPECT_EQ(signal, SIGKILL);
    ++kills;
  }
  // Two for each operation: before its commit and after it.
  EXPECT_GE(kills, 2 * Script::kSteps);
  std::filesystem::remove_all(pattern);
}

}  // namespace
}  // namespace loam::meta
