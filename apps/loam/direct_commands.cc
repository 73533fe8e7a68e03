// SPDX-License-Identifier: Apache-2.0
#include "loam/direct_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/units.h"
#include "io/file.h"
#include "loam/direct_copy.h"
#include "loam/direct_store.h"
#include "loam/exit_code.h"
#include "loam/json_text.h"
#include "loam/output.h"

namespace loam::cli {

namespace {

constexpr std::size_t kRemoveBatch = 1'000;

tl::unexpected<Error> nothing_at(std::string_view text) {
  return fail(ErrorCode::kNotFound, fmt::format("there is nothing at {}", printable(text)));
}

Result<DirectEnd> direct_end(const std::string& text) {
  return parse_direct(text);
}

// Prints objects as they come, so that millions of keys neither wait nor fill memory.
class Lines {
 public:
  Lines(const DirectEnd& end, bool json) : end_(end), json_(json) {}

  void object(const object::ObjectInfo& object) {
    ++count_;
    bytes_ += object.size;
    const std::string modified = format_utc(object.modified_ms);
    if (!json_) {
      print("{:>10}  {:<20}  {}\n", format_bytes(object.size), modified,
            printable(end_.text(object.key)));
      return;
    }
    Json line = {{"size", object.size}, {"modified", modified}, {"etag", object.etag}};
    set_key(line, object.key);
    element(line);
  }
  void directory(const std::string& prefix) {
    ++count_;
    if (!json_) {
      print("{:>10}  {:<20}  {}\n", "-", "-", printable(end_.text(prefix)));
      return;
    }
    Json line = {{"directory", true}};
    set_key(line, prefix);
    element(line);
  }
  void end() {
    if (json_) print("{}]}}\n", count_ == 0 ? "{\"entries\": [" : "\n");
  }
  std::size_t count() const { return count_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  void element(const Json& line) {
    print("{}{}", count_ == 1 ? "{\"entries\": [\n" : ",\n", dump_json(line));
  }

  const DirectEnd& end_;
  const bool json_;
  std::size_t count_ = 0;
  std::int64_t bytes_ = 0;
};

Status list_level(object::ObjectStore& store, const DirectEnd& end, Lines& lines) {
  object::ListOptions options;
  options.delimiter = true;
  for (;;) {
    const object::ListPage page = TRY(store.list(end.prefix(), options));
    for (const std::string& prefix : page.prefixes)
      lines.directory(prefix);
    for (const object::ObjectInfo& object : page.objects)
      lines.object(object);
    if (reader_gone() || !object::advance(options, page)) return {};
  }
}

void print_copied(const std::vector<DirectItem>& items, const std::vector<std::string>& unmapped) {
  Json left = Json::array();
  for (const std::string& key : unmapped) {
    Json one;
    set_key(one, key);
    left.push_back(std::move(one));
  }
  print_json({{"files", items.size()}, {"bytes", total_bytes(items)}, {"unmapped", left}});
}

// A merge of two lists in order of names: what to copy, and what is only at the destination.
struct Difference {
  std::vector<DirectItem> copy;
  std::vector<std::string> only_there;  // whole names
};
Difference difference(const DirectTree& from, const DirectTree& to, bool size_only) {
  Difference out;
  auto there = to.files.begin();
  for (const DirectItem& file : from.files) {
    for (; there != to.files.end() && there->to < file.to; ++there)
      out.only_there.push_back(there->from);
    const bool present = there != to.files.end() && there->to == file.to;
    // Whole seconds, as S3 has them.
    const bool newer =
        !present || (!size_only && file.modified_ms / 1000 > there->modified_ms / 1000);
    if (newer || file.size != there->size) out.copy.push_back(file);
    if (present) ++there;
  }
  for (; there != to.files.end(); ++there)
    out.only_there.push_back(there->from);
  return out;
}

Status remove_there(const DirectPair& pair, const std::vector<std::string>& names) {
  if (pair.to_store) return pair.to_store->remove_all(names);
  for (const std::string& name : names) {
    if (std::remove(name.c_str()) != 0) {
      return fail(io::error_from_errno(errno, fmt::format("remove {}", name)));
    }
  }
  return {};
}

}  // namespace

Result<int> direct_ls(const DirectListOptions& options) {
  const DirectEnd end = TRY(direct_end(options.path));
  const auto store = TRY(open_direct(end));
  Lines lines(end, options.json);
  if (!end.place.slash) {
    if (const auto object = TRY(find_direct(*store, end.key()))) lines.object(*object);
  }
  if (options.recursive) {
    TRY_VOID(object::for_each_object(*store, end.prefix(),
                                     [&](const object::ObjectInfo& object) -> Status {
                                       lines.object(object);
                                       if (!reader_gone()) return {};
                                       return fail(ErrorCode::kCanceled, "nobody reads");
                                     }));
  } else {
    TRY_VOID(list_level(*store, end, lines));
  }
  if (lines.count() == 0 && end.place.path != "/") return nothing_at(options.path);
  lines.end();
  if (options.recursive) note("{} files, {}\n", lines.count(), format_bytes(lines.bytes()));
  return kExitOk;
}

Result<int> direct_cp(const DirectCopyOptions& options) {
  const DirectPair pair = TRY(open_pair(options.from, options.to));
  const DirectPlan plan = TRY(plan_direct(pair, options.recursive));
  TRY_VOID(run_direct(pair, plan.items));
  if (options.json) {
    print_copied(plan.items, plan.unmapped);
  } else {
    note("copied {} file{}, {}\n", plan.items.size(), plan.items.size() == 1 ? "" : "s",
         format_bytes(total_bytes(plan.items)));
  }
  return report_unmapped(plan.unmapped);
}

Result<int> direct_sync(const DirectSyncOptions& options) {
  const DirectPair pair = TRY(open_pair(options.from, options.to));
  if (!pair.to_store) TRY_VOID(io::make_directories(pair.to.place.path));
  const DirectTree from = TRY(direct_tree(pair.from, pair.from_store.get(), !pair.to_store));
  const DirectTree to = TRY(direct_tree(pair.to, pair.to_store.get(), false));
  if (from.files.empty() && options.remove && !to.files.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("there is nothing at {}; --delete would empty {}",
                            printable(options.from), printable(options.to)));
  }
  Difference todo = difference(from, to, options.size_only);
  for (DirectItem& item : todo.copy) {
    item.to =
        pair.to_store ? pair.to.direct->prefix() + item.to : join_path(pair.to.place.path, item.to);
  }
  if (!options.remove) todo.only_there.clear();
  if (!options.dry_run) {
    TRY_VOID(run_direct(pair, todo.copy));
    TRY_VOID(remove_there(pair, todo.only_there));
  }
  if (options.json) {
    print_copied(todo.copy, from.unmapped);
  } else {
    if (options.dry_run) {
      for (const DirectItem& item : todo.copy)
        print("copy    {}\n", printable(item.to));
      for (const std::string& name : todo.only_there)
        print("remove  {}\n", printable(name));
    }
    note("{} {} of {} files, {}; {} {}\n", options.dry_run ? "would copy" : "copied",
         todo.copy.size(), from.files.size(), format_bytes(total_bytes(todo.copy)),
         options.dry_run ? "would remove" : "removed", todo.only_there.size());
  }
  return report_unmapped(from.unmapped);
}

Result<int> direct_rm(const DirectRemoveOptions& options) {
  const DirectEnd end = TRY(direct_end(options.path));
  if (end.place.path == "/") {
    return fail(ErrorCode::kInvalidArgument, "the whole store is too much; name a directory in it");
  }
  const auto store = TRY(open_direct(end));
  std::size_t removed = 0;
  if (!end.place.slash && TRY(find_direct(*store, end.key()))) {
    TRY_VOID(store->remove(end.key()));
    ++removed;
  }
  if (!options.recursive) {
    if (removed == 0 && TRY(is_direct_directory(*store, end))) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} is a directory; remove it with -r", printable(options.path)));
    }
    if (removed == 0) return nothing_at(options.path);
  } else if (options.ask &&
             !confirmed(fmt::format("remove everything below {}?", printable(options.path)))) {
    note("nothing was removed\n");
    return kExitFailed;
  }
  while (options.recursive) {
    // From the beginning each time: what was there is gone.
    object::ListOptions page;
    page.limit = kRemoveBatch;
    std::vector<std::string> keys;
    for (const object::ObjectInfo& object : TRY(store->list(end.prefix(), page)).objects)
      keys.push_back(object.key);
    if (keys.empty()) break;
    TRY_VOID(store->remove_all(keys));
    removed += keys.size();
  }
  if (removed == 0) return nothing_at(options.path);
  note("removed {} file{}\n", removed, removed == 1 ? "" : "s");
  return kExitOk;
}

Result<int> direct_cat(const std::string& path) {
  const DirectEnd end = TRY(direct_end(path));
  const auto store = TRY(open_direct(end));
  const auto reader = TRY(store->get(end.key(), {}, ""));
  std::vector<std::byte> buffer(1 << 20);
  while (const std::size_t n = TRY(reader->read(buffer))) {
    if (!put(stdout, {reinterpret_cast<const char*>(buffer.data()), n})) break;
  }
  return kExitOk;
}

}  // namespace loam::cli
