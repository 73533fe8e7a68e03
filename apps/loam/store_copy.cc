// SPDX-License-Identifier: Apache-2.0
#include "loam/store_copy.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/encoding.h"
#include "io/file.h"
#include "loam/store_listing.h"

namespace loam::cli {

namespace {

constexpr std::size_t kMaxLocalFiles = 2'000'000;

enum class Kind { kMissing, kFile, kDirectory, kOther };

struct LocalThing {
  Kind kind = Kind::kMissing;
  std::int64_t size = 0;
};

LocalThing look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (S_ISDIR(status.st_mode)) return {Kind::kDirectory, 0};
  return {S_ISREG(status.st_mode) ? Kind::kFile : Kind::kOther, status.st_size};
}

tl::unexpected<Error> needs_recursive(std::string_view what) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is a directory; copy it with -r", printable(what)));
}

Status check_name(const std::string& path) {
  if (is_valid_utf8(path)) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the name {} is not UTF-8 and cannot go into the store; rename it",
                          printable(path)));
}

Result<std::vector<CopyItem>> plan_upload(const ApiClient& client, const CopyEnd& from,
                                          const CopyEnd& to, bool recursive) {
  const LocalThing source = look_at(from.path);
  if (source.kind == Kind::kMissing || source.kind == Kind::kOther) {
    return fail(ErrorCode::kNotFound,
                fmt::format("{} is not a file or directory of this machine; paths of the store are "
                            "written store:/...",
                            printable(from.path)));
  }
  const bool directory = source.kind == Kind::kDirectory;
  if (directory && !recursive) return needs_recursive(from.path);
  const bool into = to.slash || TRY(is_store_directory(client, to.path));
  const std::string target = copy_destination(from, directory, to, into);
  std::vector<CopyItem> out;
  if (!directory) {
    TRY_VOID(check_name(target));
    out.push_back({from.path, target, source.size});
    return out;
  }
  const io::Tree tree = TRY(io::list_tree(from.path, kMaxLocalFiles));
  if (!tree.links.empty()) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} holds links ({}), which the store has not; remove them or copy what "
                    "they lead to",
                    printable(from.path), printable(tree.links.front())));
  }
  for (const io::FileEntry& file : tree.files) {
    TRY_VOID(check_name(file.path));
    out.push_back({join_path(from.path, file.path), join_path(target, file.path), file.size});
  }
  return out;
}

Result<std::vector<CopyItem>> plan_directory_download(const ApiClient& client, const CopyEnd& from,
                                                      const std::string& target) {
  const StoreListing listing = TRY(list_directory(client, from.path, /*recursive=*/true));
  const std::size_t skip = from.path == "/" ? 1 : from.path.size() + 1;
  std::vector<CopyItem> out;
  for (const StoreObject& object : listing.objects) {
    const std::string relative = object.path.substr(skip);
    if (!io::check_relative_path(relative)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} cannot be a file on this machine; copy the others one by one",
                              printable(store_text(object.path))));
    }
    out.push_back({join_path(target, relative), object.path, object.size});
  }
  return out;
}

Result<std::vector<CopyItem>> plan_download(const ApiClient& client, const CopyEnd& from,
                                            const CopyEnd& to, bool recursive) {
  const LocalThing place = look_at(to.path);
  const bool into = place.kind == Kind::kDirectory;
  if (!from.slash) {
    if (const auto object = TRY(find_object(client, from.path))) {
      return std::vector<CopyItem>{
          {copy_destination(from, false, to, into), object->path, object->size}};
    }
  }
  if (!TRY(is_store_directory(client, from.path))) {
    return fail(ErrorCode::kNotFound, fmt::format("there is nothing at {}; see 'loam store ls'",
                                                  printable(store_text(from.path))));
  }
  if (!recursive) return needs_recursive(store_text(from.path));
  if (place.kind == Kind::kFile || place.kind == Kind::kOther) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} is not a directory, so a directory cannot go there", printable(to.path)));
  }
  return plan_directory_download(client, from, copy_destination(from, true, to, into));
}

}  // namespace

Result<std::vector<CopyItem>> plan_copy(const ApiClient& client, const CopyEnd& from,
                                        const CopyEnd& to, bool recursive) {
  if (!from.in_store && to.in_store) return plan_upload(client, from, to, recursive);
  if (from.in_store && !to.in_store) return plan_download(client, from, to, recursive);
  if (from.in_store) {
    return fail(ErrorCode::kUnimplemented,
                "copying within the store is not implemented in this version; copy to this machine "
                "and back");
  }
  return fail(ErrorCode::kInvalidArgument,
              "neither path is in the store (those are written store:/...); use cp");
}

}  // namespace loam::cli
