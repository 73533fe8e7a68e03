// SPDX-License-Identifier: Apache-2.0
#include "api/fs_body.h"

#include <fmt/format.h>

#include "api/respond.h"
#include "base/clock.h"
#include "base/encoding.h"
#include "meta/create.h"

namespace loam::api {

namespace {

std::string_view type_name(meta::InodeType type) {
  switch (type) {
    case meta::InodeType::kFile:
      return "file";
    case meta::InodeType::kDirectory:
      return "directory";
    case meta::InodeType::kSymlink:
      return "symlink";
    case meta::InodeType::kFifo:
      return "fifo";
    case meta::InodeType::kSocket:
      return "socket";
  }
  return "file";
}

Result<std::string> checked_path(std::string path) {
  if (path.starts_with('/')) return path;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' must be an absolute path", printable(path.substr(0, 200))));
}

bool belongs_to_server(std::string_view path) {
  const std::string_view first = path.substr(0, path.find('/', 1));
  return first == "/jobs" || first == "/.loam" || first == "/workdirs";
}

tl::unexpected<Error> denied(const jobs::Principal& principal, std::string_view what,
                             const std::string& path) {
  return fail(ErrorCode::kPermissionDenied,
              fmt::format("{} may not {} {}", principal.owner, what, printable(path)));
}

}  // namespace

void put_bytes(Json& object, std::string_view key, std::string_view bytes) {
  if (is_valid_utf8(bytes)) {
    object[std::string(key)] = bytes;
  } else {
    object[fmt::format("{}_b64", key)] = base64_encode(bytes);
  }
}

Result<std::string> get_bytes(const Json& object, std::string_view key) {
  const std::string encoded = fmt::format("{}_b64", key);
  if (object.contains(key) == object.contains(encoded)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("either '{}' or '{}' is needed", key, encoded));
  }
  if (object.contains(key)) return json_string(object, key);
  auto bytes = base64_decode(TRY(json_string(object, encoded)));
  if (bytes) return bytes;
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not base 64", encoded));
}

Result<std::string> path_of_query(const net::HttpRequest& request) {
  auto path = request.query_value("path");
  if (!path) return fail(ErrorCode::kInvalidArgument, "the query needs 'path'");
  return checked_path(std::move(*path));
}

Result<std::string> path_of_body(const Json& body, std::string_view key) {
  return checked_path(TRY(get_bytes(body, key)));
}

Result<bool> query_flag(const net::HttpRequest& request, std::string_view name) {
  return TRY(query_int(request, name, 0, 0, 1)) == 1;
}

Result<std::optional<std::int64_t>> whole_number(const Json& body, std::string_view key,
                                                 std::int64_t least, std::int64_t most) {
  if (!body.contains(key) || body.at(std::string(key)).is_null()) {
    return std::optional<std::int64_t>();
  }
  const std::int64_t value = TRY(json_int(body, key));
  if (value < least || value > most) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' must be a whole number from {} to {}", key, least, most));
  }
  return std::optional<std::int64_t>(value);
}

Result<Json> entry_json(db::Session& session, const meta::Attributes& a) {
  Json out{{"inode", a.inode},       {"type", type_name(a.type)},
           {"mode", a.mode},         {"uid", a.uid},
           {"gid", a.gid},           {"nlink", a.nlink},
           {"size", a.size},         {"mtime", format_utc(a.mtime_ns / 1'000'000)},
           {"mtime_ns", a.mtime_ns}, {"generation", a.generation}};
  if (a.type == meta::InodeType::kSymlink) {
    put_bytes(out, "target", TRY(meta::read_symlink(session, a.inode)));
  }
  return out;
}

Result<Json> entry_json(db::Session& session, const std::string& path,
                        const meta::Attributes& attributes) {
  Json out = TRY(entry_json(session, attributes));
  put_bytes(out, "path", path);
  return out;
}

Result<FsCaller> FsCaller::of(const ApiContext& context, const net::HttpRequest& request) {
  return FsCaller(TRY(user_caller(context, request)));
}

Status FsCaller::may_read(const std::string& path) const {
  if (!principal_.may_read(path)) return denied(principal_, "read", path);
  return {};
}

Status FsCaller::may_write(const std::string& path) const {
  if (belongs_to_server(path)) {
    return fail(ErrorCode::kPermissionDenied,
                fmt::format("'{}' belongs to the server", printable(path)));
  }
  if (!principal_.may_write(path)) return denied(principal_, "write", path);
  return {};
}

Result<control::FsPath> FsCaller::readable(db::Session& session, const std::string& path,
                                           control::LastLink last) const {
  control::FsPath found = TRY(control::resolve_path(session, path, last));
  TRY_VOID(may_read(found.path));
  if (found.attributes) return found;
  return fail(ErrorCode::kNotFound, fmt::format("there is nothing at '{}'", printable(path)));
}

Result<control::FsPath> FsCaller::writable(db::Session& session, const std::string& path,
                                           control::LastLink last) const {
  control::FsPath found = TRY(control::resolve_path(session, path, last));
  TRY_VOID(may_write(found.path));
  return found;
}

}  // namespace loam::api
