// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "base/random.h"
#include "db/transactions_testing.h"
#include "meta/check.h"
#include "meta/commit.h"
#include "meta/create.h"
#include "meta/link.h"
#include "meta/lookup.h"
#include "meta/object.h"
#include "meta/open.h"
#include "meta/policy.h"
#include "meta/readdir.h"
#include "meta/rename.h"
#include "meta/schema.h"
#include "meta/setattr.h"
#include "meta/unlink.h"
#include "meta/upload.h"
#include "meta/usage.h"

namespace loam::meta::testing {

using db::testing::code_of;
using db::testing::must;

// An empty namespace under a clock that only the test moves. On SQLite or PostgreSQL, as
// db/database_testing.h says. Paths are like "/a/b".
class World {
 public:
  explicit World(std::uint64_t seed = 1) : random(seed) {
    [[maybe_unused]] static const bool quiet = [] {
      log_setup({.level = LogLevel::kError});
      return true;
    }();
    must(migrate_schema(*db_));
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  db::testing::TestDatabase& database() { return db_; }

  // Runs an operation in a write transaction of its own.
  template <typename F>
  auto write(F operation) -> std::invoke_result_t<F, Operation&> {
    return write_to(*db_, std::move(operation));
  }
  template <typename F>
  auto write_to(db::Database& database, F operation) -> std::invoke_result_t<F, Operation&> {
    using Out = std::invoke_result_t<F, Operation&>;
    const auto run = [&](db::Session& session) -> Out {
      Operation op{session, random, lease_ms, wall_ms};
      return operation(op);
    };
    return calls_.write(database, run);
  }
  template <typename F>
  auto read(F operation) -> std::invoke_result_t<F, db::Session&> {
    return calls_.read(*db_, std::move(operation));
  }
  // What `calls` writes shares one commit, an operation being undone alone as ever.
  void together(const std::function<void()>& calls) { calls_.together(*db_, calls); }
  template <typename... Args>
  std::int64_t number(std::string_view sql, const Args&... args) {
    const auto rows = must(read([&](db::Session& s) { return s.rows(sql, args...); }));
    CHECK(rows.size() == 1);
    return rows[0].integer(0);
  }

  Result<Found> find(const std::string& path) {
    return read([&](db::Session& s) { return lookup_path(s, path); });
  }
  Attributes stat(const std::string& path) { return must(find(path)).attributes; }
  std::int64_t at(const std::string& path) { return stat(path).inode; }
  bool exists(const std::string& path) { return find(path).has_value(); }
  Place place(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return {at(path.substr(0, slash)), path.substr(slash + 1)};
  }
  std::vector<std::string> names(const std::string& path) {
    const std::int64_t directory = at(path);
    std::vector<std::string> out;
    for (const ListedEntry& entry :
         must(read([&](db::Session& s) { return readdir(s, directory, 0, kMaxListedEntries); }))) {
      out.push_back(entry.name);
    }
    return out;
  }

  std::int64_t mkdir(const std::string& path) {
    const Place where = place(path);
    return must(write([&](Operation& op) { return make_directory(op, where, {.mode = 0755}); }))
        .inode;
  }
  std::int64_t touch(const std::string& path) {
    const Place where = place(path);
    return must(write([&](Operation& op) { return create_file(op, where, {}, true); }))
        .attributes.inode;
  }
  Status unlink(const std::string& path) {
    const Place where = place(path);
    return write([&](Operation& op) { return unlink_entry(op, where); });
  }
  Status rmdir(const std::string& path) {
    const Place where = place(path);
    return write([&](Operation& op) { return remove_directory(op, where); });
  }
  Result<Attributes> link(const std::string& path, const std::string& to) {
    const std::int64_t inode = at(path);
    const Place where = place(to);
    return write([&](Operation& op) { return link_inode(op, inode, where); });
  }
  Status rename(const std::string& from, const std::string& to,
                RenameMode mode = RenameMode::kReplace) {
    const Place a = place(from);
    const Place b = place(to);
    return write([&](Operation& op) { return rename_entry(op, a, b, mode); });
  }
  Result<Attributes> truncate(const std::string& path, std::int64_t size) {
    const std::int64_t inode = at(path);
    return write([&](Operation& op) { return setattr(op, inode, {.size = size}); });
  }

  NodeRef begin(const std::string& node, std::int64_t ttl_ms = 1'000'000) {
    return must(write([&](Operation& op) { return begin_session(op, node, ttl_ms); }));
  }
  ObjectId reserve(const NodeRef& ref, std::int64_t inode) {
    return must(write([&](Operation& op) { return reserve_object(op, ref, inode); }));
  }
  // A commit of one object that is the whole file.
  static Commit whole(std::int64_t inode, std::int64_t base, const ObjectId& object,
                      std::int64_t size, std::vector<std::string> holders) {
    Commit out{.inode = inode, .base_generation = base, .object = object};
    out.object_length = out.size = size;
    if (size > 0) out.extents = {{0, size, object, 0}};
    out.holders = std::move(holders);
    return out;
  }
  Result<Committed> commit(const NodeRef& ref, const Commit& commit) {
    return write([&](Operation& op) { return commit_content(op, ref, commit); });
  }
  // Writes the whole file anew, from its present generation, on that node alone.
  ObjectId put(const NodeRef& ref, const std::string& path, std::int64_t size) {
    const Attributes file = stat(path);
    const ObjectId object = reserve(ref, file.inode);
    must(commit(ref, whole(file.inode, file.generation, object, size, {ref.node})));
    return object;
  }
  // Uploads an object; its key.
  std::string store(const NodeRef& ref, const ObjectId& object) {
    const std::string key =
        must(write([&](Operation& op) { return start_upload(op, ref, object); }));
    must(write([&](Operation& op) { return finish_upload(op, ref, object, "etag"); }));
    return key;
  }
  // A commit of one object that is the whole file and lies in the store.
  static Commit whole_stored(std::int64_t inode, std::int64_t base, const ObjectId& object,
                             std::int64_t size) {
    Commit out = whole(inode, base, object, size, {});
    out.stored_etag = "etag";
    return out;
  }
  OpenFile open(const std::string& path) {
    const std::int64_t inode = at(path);
    return must(read([&](db::Session& s) { return open_file(s, inode); }));
  }
  Object object(const ObjectId& id) {
    return must(read([&](db::Session& s) { return get_object(s, id); }));
  }

  Usage usage(const std::string& path) {
    const std::int64_t directory = at(path);
    must(write([](Operation& op) { return fold_all_usage(op); }));
    return must(read([&](db::Session& s) { return disk_usage(s, directory); }));
  }
  // Every rule that the tables break, one a line.
  std::string problems() {
    std::string out;
    for (const std::string& line : must(read([](db::Session& s) { return check_namespace(s); })))
      out += line + "\n";
    return out;
  }

  SeededRandom random;
  std::int64_t lease_ms = 1'000;
  std::int64_t wall_ms = 1'700'000'000'000;

 private:
  db::testing::TestDatabase db_;
  db::testing::Transactions calls_;
};

}  // namespace loam::meta::testing
