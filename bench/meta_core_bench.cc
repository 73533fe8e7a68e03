// SPDX-License-Identifier: Apache-2.0
// What the namespace's operations cost in one process on SQLite, without HTTP: whether the schema
// holds what it is meant to. meta_core_bench DIRECTORY [ENTRIES]; the directory is made and should
// be on a disk. Writes are queued 2,000 at a time, so they share commits as a server's do.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <latch>

#include "base/check.h"
#include "db/sqlite_database.h"
#include "meta/change.h"
#include "meta/commit.h"
#include "meta/create.h"
#include "meta/find.h"
#include "meta/lookup.h"
#include "meta/object.h"
#include "meta/rename.h"
#include "meta/schema.h"
#include "meta/setattr.h"
#include "meta/unlink.h"
#include "meta/upload.h"
#include "meta/usage.h"

namespace {

using loam::Result;
using loam::Status;
using loam::meta::Operation;
using loam::meta::Place;

constexpr std::int64_t kFiles = 100'000;
constexpr std::int64_t kQueued = 2'000;
constexpr std::int64_t kFilesPerDirectory = 1'000;
constexpr std::int64_t kHits = 100;

template <typename T>
T must(Result<T> result) {
  if (!result) fmt::print(stderr, "{}\n", result.error().to_string());
  CHECK(result.has_value());
  return std::move(*result);
}
void must(const Status& status) {
  if (!status) fmt::print(stderr, "{}\n", status.error().to_string());
  CHECK(status.has_value());
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Bench {
 public:
  explicit Bench(const std::string& path) : path_(path) {
    db_ = must(loam::db::open_sqlite({.path = path, .readers = 2}));
    must(loam::meta::migrate_schema(*db_));
  }

  // Calls work(op, i) for i below `count`, each an operation of its own.
  template <typename F>
  void each(std::int64_t count, F work) {
    for (std::int64_t first = 0; first < count; first += kQueued) {
      const std::int64_t size = std::min(kQueued, count - first);
      std::latch done(size);
      for (std::int64_t i = first; i < first + size; ++i) {
        db_->write_async(
            [this, work, i](loam::db::Session& session) -> Status {
              Operation op{session, random_, 1'000, 1'700'000'000'000 + i};
              return work(op, i);
            },
            {},
            [&done](const Status& status) {
              must(status);
              done.count_down();
            });
      }
      done.wait();
    }
  }
  template <typename F>
  void rate(const char* name, std::int64_t count, F work) {
    const double seconds = seconds_of([&] { each(count, work); });
    fmt::print("{:24} {:10.0f} /s\n", name, static_cast<double>(count) / seconds);
  }
  template <typename F>
  auto once(F work) {
    return must(db_->write_value([&](loam::db::Session& session) {
      Operation op{session, random_, 1'000, 1'700'000'000'000};
      return work(op);
    }));
  }
  template <typename F>
  void one_ms(const char* name, F work) {
    fmt::print("{:24} {:10.2f} ms\n", name, seconds_of([&] { work(); }) * 1e3);
  }

  std::int64_t mkdir(std::int64_t parent, const std::string& name) {
    return once([&](Operation& op) {
             return loam::meta::make_directory(op, {parent, name}, {.mode = 0755});
           })
        .inode;
  }
  double database_bytes() {
    return must(db_->read_value([](loam::db::Session& s) -> Result<double> {
      const auto row = TRY(
          s.row("SELECT (p.page_count - f.freelist_count) * z.page_size FROM pragma_page_count p, "
                "pragma_freelist_count f, pragma_page_size z"));
      return static_cast<double>(row->integer(0));
    }));
  }
  loam::db::Database& db() { return *db_; }

 private:
  std::string path_;
  loam::SystemRandom random_;
  std::unique_ptr<loam::db::Database> db_;
};

std::string name_of(std::int64_t i) {
  return fmt::format("sample-{:08}.bin", i);
}

// A directory of kFiles files with content that is stored, at "/runs/exp-7/samples".
void measure_files(const std::string& path) {
  Bench bench(path);
  const std::int64_t top = bench.mkdir(loam::meta::kRootInode, "runs");
  const std::int64_t run = bench.mkdir(top, "exp-7");
  const std::int64_t dir = bench.mkdir(run, "samples");
  const auto ref =
      bench.once([](Operation& op) { return loam::meta::begin_session(op, "n-1", 3'600'000); });
  std::vector<std::int64_t> inodes(kFiles);
  bench.rate("create", kFiles, [&](Operation& op, std::int64_t i) -> Status {
    inodes[i] = TRY(loam::meta::create_file(op, {dir, name_of(i)}, {}, true)).attributes.inode;
    return {};
  });
  bench.rate("write and store", kFiles, [&](Operation& op, std::int64_t i) -> Status {
    loam::meta::Commit commit{.inode = inodes[i]};
    commit.object = TRY(loam::meta::reserve_object(op, ref, inodes[i]));
    commit.size = commit.object_length = 150'000;
    commit.crcs = "crc4";
    commit.extents = {{0, 150'000, commit.object, 0}};
    commit.holders = {"n-1"};
    TRY(loam::meta::commit_content(op, ref, commit));
    TRY(loam::meta::start_upload(op, ref, commit.object));
    return loam::meta::finish_upload(op, ref, commit.object, {});
  });
  bench.once([](Operation& op) { return loam::meta::trim_changes(op, 1'000, INT64_MAX / 2); });
  bench.once([](Operation& op) -> Result<int> {
    TRY_VOID(loam::meta::fold_all_usage(op));
    return 0;
  });
  fmt::print("{:24} {:10.0f}\n", "database bytes per file", bench.database_bytes() / kFiles);
  const double seconds = seconds_of([&] {
    for (std::int64_t i = 0; i < kFiles; ++i) {
      must(bench.db().read([&](loam::db::Session& s) -> Status {
        TRY(loam::meta::lookup_path(s, "/runs/exp-7/samples/" + name_of((i * 7919) % kFiles)));
        return {};
      }));
    }
  });
  fmt::print("{:24} {:10.0f} /s\n", "stat by path, 4 names", kFiles / seconds);
  bench.rate("rename", kFiles, [&](Operation& op, std::int64_t i) {
    return loam::meta::rename_entry(op, {dir, name_of(i)}, {dir, "renamed-" + name_of(i)});
  });
  bench.one_ms("rename a directory", [&] {
    bench.once([&](Operation& op) -> Result<int> {
      TRY_VOID(loam::meta::rename_entry(op, {run, "samples"}, {top, "published"}));
      return 0;
    });
  });
  bench.rate("unlink", kFiles, [&](Operation& op, std::int64_t i) {
    return loam::meta::unlink_entry(op, {dir, "renamed-" + name_of(i)});
  });
}

void measure_tree(const std::string& path, std::int64_t entries) {
  Bench bench(path);
  const std::int64_t top = bench.mkdir(loam::meta::kRootInode, "data");
  std::vector<std::int64_t> dirs;
  for (std::int64_t i = 0; i <= entries / kFilesPerDirectory; ++i)
    dirs.push_back(bench.mkdir(top, fmt::format("part-{:05}", i)));
  bench.rate("create, sized", entries, [&](Operation& op, std::int64_t i) -> Status {
    const auto made = TRY(loam::meta::create_file(
        op, {dirs[static_cast<std::size_t>(i / kFilesPerDirectory)], name_of(i)}, {}, true));
    const bool large = i % (entries / kHits) == 0;
    TRY(loam::meta::setattr(op, made.attributes.inode,
                            {.size = large ? std::int64_t{2} << 30 : 100'000 + i % 1'000}));
    return {};
  });
  bench.one_ms("fold all usage", [&] {
    bench.once([](Operation& op) -> Result<int> {
      TRY_VOID(loam::meta::fold_all_usage(op));
      return 0;
    });
  });
  bench.one_ms("du", [&] {
    must(bench.db().read([&](loam::db::Session& s) -> Status {
      const auto found = TRY(loam::meta::lookup_path(s, "/data"));
      const auto usage = TRY(loam::meta::disk_usage(s, found.attributes.inode));
      CHECK(usage.files >= entries);
      return {};
    }));
  });
  bench.one_ms("find, 100 hits", [&] {
    must(bench.db().read([&](loam::db::Session& s) -> Status {
      const auto answer = TRY(loam::meta::find_files(
          s, {.directory = top, .min_size = std::int64_t{1} << 30, .limit = kHits}));
      CHECK(answer.hits.size() == kHits);
      return {};
    }));
  });
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  const std::filesystem::path directory = argv[1];
  std::filesystem::create_directories(directory);
  measure_files((directory / "files.db").string());
  measure_tree((directory / "tree.db").string(), argc > 2 ? std::atoll(argv[2]) : 1'000'000);
  return 0;
}
