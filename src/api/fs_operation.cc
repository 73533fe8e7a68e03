// SPDX-License-Identifier: Apache-2.0
#include "api/fs_operation.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/encoding.h"
#include "meta/link.h"
#include "meta/rename.h"
#include "meta/setattr.h"
#include "meta/unlink.h"

namespace loam::api {

namespace {

using control::FsPath;
using control::LastLink;

constexpr std::int64_t kMaxMode = 07777;
constexpr std::int64_t kMaxId = UINT32_MAX;

Result<FsPath> existing(FsPath found) {
  if (found.attributes) return found;
  return fail(ErrorCode::kNotFound, fmt::format("there is nothing at '{}'", printable(found.path)));
}

// The root has no entry of its own.
Status check_not_root(const FsPath& place) {
  if (place.path != "/") return {};
  return fail(ErrorCode::kPermissionDenied, "'/' stays where and what it is");
}

Result<Json> stat(const FsCaller& caller, meta::Operation& op, const Json& body) {
  const bool follow = TRY(json_bool(body, "follow", false));
  const FsPath found = TRY(caller.readable(op.session, TRY(path_of_body(body, "path")),
                                           follow ? LastLink::kFollow : LastLink::kKeep));
  return entry_json(op.session, found.path, *found.attributes);
}

Result<Json> mkdir(const FsCaller& caller, meta::Operation& op, const Json& body) {
  const std::string path = TRY(path_of_body(body, "path"));
  const meta::NewInode inode{.mode = TRY(whole_number(body, "mode", 0, kMaxMode)).value_or(0755)};
  if (!TRY(json_bool(body, "parents", false))) {
    const FsPath place = TRY(caller.writable(op.session, path, LastLink::kKeep));
    TRY_VOID(check_not_root(place));
    return entry_json(op.session, place.path, TRY(meta::make_directory(op, place.place, inode)));
  }
  const FsPath place =
      TRY(control::resolve_with_parents(op, path, LastLink::kFollow, {.mode = 0755}));
  TRY_VOID(caller.may_write(place.path));
  if (place.attributes && place.attributes->is_directory()) {
    return entry_json(op.session, place.path, *place.attributes);
  }
  return entry_json(op.session, place.path, TRY(meta::make_directory(op, place.place, inode)));
}

Result<Json> symlink(const FsCaller& caller, meta::Operation& op, const Json& body) {
  const FsPath place =
      TRY(caller.writable(op.session, TRY(path_of_body(body, "path")), LastLink::kKeep));
  TRY_VOID(check_not_root(place));
  return entry_json(
      op.session, place.path,
      TRY(meta::make_symlink(op, place.place, TRY(get_bytes(body, "target")), {.mode = 0777})));
}

struct FromTo {
  FsPath from;
  FsPath to;
};
Result<FromTo> from_to(const FsCaller& caller, meta::Operation& op, const Json& body) {
  FromTo out{TRY(caller.writable(op.session, TRY(path_of_body(body, "from")), LastLink::kKeep)),
             TRY(caller.writable(op.session, TRY(path_of_body(body, "to")), LastLink::kKeep))};
  TRY_VOID(check_not_root(out.from));
  TRY_VOID(check_not_root(out.to));
  out.from = TRY(existing(std::move(out.from)));
  return out;
}

Result<Json> link(const FsCaller& caller, meta::Operation& op, const Json& body) {
  const FromTo paths = TRY(from_to(caller, op, body));
  return entry_json(op.session, paths.to.path,
                    TRY(meta::link_inode(op, paths.from.attributes->inode, paths.to.place)));
}

Result<Json> rename(const FsCaller& caller, meta::Operation& op, const Json& body) {
  const std::string mode = TRY(json_string(body, "mode", "replace"));
  if (mode != "replace" && mode != "no_replace" && mode != "exchange") {
    return fail(ErrorCode::kInvalidArgument,
                "'mode' must be 'replace', 'no_replace' or 'exchange'");
  }
  const FromTo paths = TRY(from_to(caller, op, body));
  TRY_VOID(meta::rename_entry(op, paths.from.place, paths.to.place,
                              mode == "replace"      ? meta::RenameMode::kReplace
                              : mode == "no_replace" ? meta::RenameMode::kNoReplace
                                                     : meta::RenameMode::kExchange));
  const auto moved = TRY(control::resolve_existing(op.session, paths.to.path, LastLink::kKeep));
  return entry_json(op.session, moved.path, *moved.attributes);
}

Result<Json> remove(const FsCaller& caller, meta::Operation& op, const Json& body) {
  const std::string kind = TRY(json_string(body, "kind", "any"));
  if (kind != "any" && kind != "file" && kind != "directory") {
    return fail(ErrorCode::kInvalidArgument, "'kind' must be 'file', 'directory' or 'any'");
  }
  const FsPath place = TRY(
      existing(TRY(caller.writable(op.session, TRY(path_of_body(body, "path")), LastLink::kKeep))));
  TRY_VOID(check_not_root(place));
  const bool directory = kind == "any" ? place.attributes->is_directory() : kind == "directory";
  TRY_VOID(directory ? meta::remove_directory(op, place.place)
                     : meta::unlink_entry(op, place.place));
  return Json::object();
}

Result<Json> setattr(const FsCaller& caller, meta::Operation& op, const Json& body) {
  const FsPath place = TRY(existing(
      TRY(caller.writable(op.session, TRY(path_of_body(body, "path")), LastLink::kFollow))));
  meta::AttributeChange change;
  change.mode = TRY(whole_number(body, "mode", 0, kMaxMode));
  change.uid = TRY(whole_number(body, "uid", 0, kMaxId));
  change.gid = TRY(whole_number(body, "gid", 0, kMaxId));
  change.size = TRY(whole_number(body, "size", 0, INT64_MAX));
  change.mtime_ns = TRY(whole_number(body, "mtime_ns", 0, INT64_MAX));
  return entry_json(op.session, place.path,
                    TRY(meta::setattr(op, place.attributes->inode, change)));
}

constexpr std::array<std::pair<std::string_view, FsOperation>, 7> kOperations{
    {{"stat", stat},
     {"mkdir", mkdir},
     {"symlink", symlink},
     {"link", link},
     {"rename", rename},
     {"remove", remove},
     {"setattr", setattr}}};

}  // namespace

FsOperation find_fs_operation(std::string_view name) {
  for (const auto& [known, operation] : kOperations) {
    if (known == name) return operation;
  }
  return nullptr;
}

}  // namespace loam::api
