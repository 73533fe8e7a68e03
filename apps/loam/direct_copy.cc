// SPDX-License-Identifier: Apache-2.0
#include "loam/direct_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>

#include "base/encoding.h"
#include "io/file.h"
#include "loam/exit_code.h"
#include "loam/interrupt.h"
#include "loam/output.h"
#include "loam/parallel.h"
#include "loam/partial_file.h"
#include "loam/progress_bar.h"
#include "loam/resumable_upload.h"

namespace loam::cli {

namespace {

constexpr std::size_t kReadBytes = 1 << 20;
constexpr std::size_t kUnmappedShown = 10;

struct LocalFile {
  bool exists = false;
  bool directory = false;
  std::int64_t size = 0;
  std::int64_t modified_ms = 0;
};

LocalFile look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {true, S_ISDIR(status.st_mode), status.st_size,
          status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000};
}

std::string source_text(const DirectPair& pair, const DirectItem& item) {
  return pair.from.direct ? pair.from.direct->text(item.from) : item.from;
}

Status upload(object::ObjectStore& store, const DirectItem& item, ProgressBar& bar) {
  if (item.size >= kResumableBytes && store.multipart() != nullptr) {
    return upload_resumably(store, *store.multipart(),
                            {item.from, item.to, item.size, item.modified_ms},
                            [&](std::int64_t bytes) { bar.add(bytes); });
  }
  const io::Fd fd = TRY(io::open_file(item.from, O_RDONLY | O_CLOEXEC));
  std::int64_t offset = 0;
  const object::Source source = [&](std::span<std::byte> out) -> Result<std::size_t> {
    if (interrupted()) return fail(ErrorCode::kCanceled, "interrupted");
    const std::size_t n = TRY(io::read_at(fd.get(), out, offset));
    offset += static_cast<std::int64_t>(n);
    bar.add(static_cast<std::int64_t>(n));
    return n;
  };
  object::PutOptions options;
  options.length = item.size;
  TRY(store.put(item.to, source, options));
  return {};
}

Status download(object::ObjectStore& store, const DirectItem& item, ProgressBar& bar) {
  if (const std::size_t slash = item.to.rfind('/'); slash != std::string::npos && slash > 0) {
    TRY_VOID(io::make_directories(item.to.substr(0, slash)));
  }
  const auto reader = TRY(store.get(item.from, {}, ""));
  PartialFile file(item.to);
  TRY_VOID(file.open());
  std::vector<std::byte> buffer(
      static_cast<std::size_t>(std::clamp<std::int64_t>(reader->length(), 1, kReadBytes)));
  while (const std::size_t n = TRY(reader->read(buffer))) {
    if (interrupted()) return fail(ErrorCode::kCanceled, "interrupted");
    TRY_VOID(file.write(std::span(buffer).first(n)));
    bar.add(static_cast<std::int64_t>(n));
  }
  if (file.length() != reader->info().size) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("{} of {} bytes came", file.length(), reader->info().size));
  }
  return file.keep(reader->info().modified_ms);
}

Status transfer(const DirectPair& pair, const DirectItem& item, ProgressBar& bar) {
  if (!pair.from_store) return upload(*pair.to_store, item, bar);
  if (!pair.to_store) return download(*pair.from_store, item, bar);
  if (pair.same_service) {
    TRY(pair.to_store->copy(item.from, item.to));
    bar.add(item.size);
    return {};
  }
  const auto reader = TRY(pair.from_store->get(item.from, {}, ""));
  object::PutOptions options;
  options.length = reader->length();
  TRY(pair.to_store->put(
      item.to,
      [&](std::span<std::byte> out) -> Result<std::size_t> {
        if (interrupted()) return fail(ErrorCode::kCanceled, "interrupted");
        const std::size_t n = TRY(reader->read(out));
        bar.add(static_cast<std::int64_t>(n));
        return n;
      },
      options));
  return {};
}

// Whether a key can be a path below a directory of this machine.
bool can_be_file(std::string_view relative) {
  if (!io::check_relative_path(relative)) return false;
  while (!relative.empty()) {
    const std::string_view name = relative.substr(0, relative.find('/'));
    if (name.size() > NAME_MAX) return false;
    relative.remove_prefix(std::min(relative.size(), name.size() + 1));
  }
  return true;
}

Result<DirectTree> local_tree(const AnyEnd& end) {
  const io::Tree tree = TRY(io::list_tree(end.place.path, kMaxCopied));
  if (!tree.links.empty()) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} holds links ({}), which the store has not; remove them or copy what "
                    "they lead to",
                    printable(end.place.path), printable(tree.links.front())));
  }
  DirectTree out;
  for (const io::FileEntry& file : tree.files) {
    const std::string path = join_path(end.place.path, file.path);
    const LocalFile now = look_at(path);
    out.files.push_back({path, file.path, file.size, now.modified_ms});
  }
  return out;
}

// Small objects cost mostly the wait for an answer, so many are in flight; large ones, whose parts
// go in parallel, fill the line with few.
std::size_t threads_for(std::size_t count, std::int64_t bytes) {
  constexpr std::int64_t kSmallMean = std::int64_t{1} << 20;
  return bytes < static_cast<std::int64_t>(count) * kSmallMean ? kSmallDirectThreads
                                                               : kDirectThreads;
}

}  // namespace

Result<DirectPair> open_pair(const std::string& from, const std::string& to) {
  DirectPair pair;
  pair.from = TRY(parse_any_end(from));
  pair.to = TRY(parse_any_end(to));
  if (pair.from.direct) pair.from_store = TRY(open_direct(*pair.from.direct));
  if (pair.to.direct) pair.to_store = TRY(open_direct(*pair.to.direct));
  pair.same_service =
      pair.from.direct && pair.to.direct && pair.from.direct->url == pair.to.direct->url;
  return pair;
}

Result<DirectTree> direct_tree(const AnyEnd& end, object::ObjectStore* store, bool for_files) {
  if (store == nullptr) return local_tree(end);
  DirectTree out;
  const std::string prefix = end.direct->prefix();
  TRY_VOID(object::for_each_object(*store, prefix, [&](const object::ObjectInfo& object) -> Status {
    if (interrupted()) return fail(ErrorCode::kCanceled, "interrupted");
    if (out.files.size() >= kMaxCopied) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format("{} holds over {} objects; take a part of it", end.text, kMaxCopied));
    }
    std::string relative = object.key.substr(prefix.size());
    if (for_files && !can_be_file(relative)) {
      out.unmapped.push_back(object.key);
    } else if (!relative.empty()) {
      out.files.push_back({object.key, std::move(relative), object.size, object.modified_ms});
    }
    return {};
  }));
  return out;
}

Result<DirectPlan> plan_direct(const DirectPair& pair, bool recursive) {
  const CopyEnd& from = pair.from.place;
  const LocalFile target = pair.to_store ? LocalFile{} : look_at(pair.to.place.path);
  const bool into =
      pair.to_store ? TRY(is_direct_directory(*pair.to_store, *pair.to.direct)) : target.directory;
  const auto name_of = [&](const std::string& path) {
    return pair.to_store ? path.substr(1) : path;
  };
  DirectPlan plan;
  const auto single = [&](const std::string& name, std::int64_t size, std::int64_t modified_ms) {
    plan.items.push_back(
        {name, name_of(copy_destination(from, false, pair.to.place, into)), size, modified_ms});
    return plan;
  };
  if (!pair.from_store) {
    const LocalFile source = look_at(from.path);
    if (!source.exists) {
      return fail(ErrorCode::kNotFound,
                  fmt::format("{} is not on this machine", printable(from.path)));
    }
    if (!source.directory) return single(from.path, source.size, source.modified_ms);
  } else if (!from.slash) {
    if (const auto object = TRY(find_direct(*pair.from_store, pair.from.direct->key()))) {
      return single(object->key, object->size, object->modified_ms);
    }
  }
  if (!recursive) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is no single file; copy what is below it with -r",
                            printable(pair.from.text)));
  }
  DirectTree tree = TRY(direct_tree(pair.from, pair.from_store.get(), pair.to_store == nullptr));
  const std::string destination = copy_destination(from, true, pair.to.place, into);
  for (DirectItem& file : tree.files) {
    file.to = name_of(join_path(destination, file.to));
    plan.items.push_back(std::move(file));
  }
  plan.unmapped = std::move(tree.unmapped);
  if (plan.items.empty() && plan.unmapped.empty() && pair.from_store) {
    return fail(ErrorCode::kNotFound,
                fmt::format("there is nothing at {}", printable(pair.from.text)));
  }
  return plan;
}

Status run_direct(const DirectPair& pair, const std::vector<DirectItem>& items) {
  catch_interrupts();
  const std::int64_t bytes = total_bytes(items);
  ProgressBar bar(pair.from_store ? (pair.to_store ? "copying" : "downloading") : "uploading",
                  bytes);
  return run_parallel(items.size(), threads_for(items.size(), bytes), [&](std::size_t i) -> Status {
    if (interrupted()) return fail(ErrorCode::kCanceled, "interrupted");
    Status done = transfer(pair, items[i], bar);
    if (done || done.error().code == ErrorCode::kCanceled) return done;
    return fail(done.error().code, fmt::format("{}: {}", printable(source_text(pair, items[i])),
                                               done.error().message));
  });
}

std::int64_t total_bytes(const std::vector<DirectItem>& items) {
  std::int64_t total = 0;
  for (const DirectItem& item : items)
    total += item.size;
  return total;
}

int report_unmapped(const std::vector<std::string>& unmapped) {
  if (unmapped.empty()) return kExitOk;
  note("{} object{} cannot be a file of this machine and {} left out:\n", unmapped.size(),
       unmapped.size() == 1 ? "" : "s", unmapped.size() == 1 ? "was" : "were");
  for (std::size_t i = 0; i < std::min(kUnmappedShown, unmapped.size()); ++i)
    note("  {}\n", printable(unmapped[i]));
  if (unmapped.size() > kUnmappedShown) note("  … ('--json' lists all)\n");
  return kExitFailed;
}

}  // namespace loam::cli
