// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/context.h"
#include "base/json.h"
#include "control/fs_path.h"
#include "jobs/token.h"
#include "meta/inode.h"
#include "net/http_server.h"

// What the routes of the namespace have in common: who may touch which path, and how paths, names
// and entries stand in requests and answers.
namespace loam::api {

// Names and paths are bytes. As JSON they are "<key>", or "<key>_b64" (base 64) where they are not
// UTF-8.
void put_bytes(Json& object, std::string_view key, std::string_view bytes);
// kInvalidArgument if neither or both are there.
Result<std::string> get_bytes(const Json& object, std::string_view key);

// The path in a query ("path=", percent-encoded) or a body: absolute, or kInvalidArgument.
Result<std::string> path_of_query(const net::HttpRequest& request);
Result<std::string> path_of_body(const Json& body, std::string_view key);
// "name=1" in the query.
Result<bool> query_flag(const net::HttpRequest& request, std::string_view name);
// A whole number of a body, if it is there.
Result<std::optional<std::int64_t>> whole_number(const Json& body, std::string_view key,
                                                 std::int64_t least, std::int64_t most);

// An entry without its name: {inode, type, mode, uid, gid, nlink, size, mtime, mtime_ns,
// generation}, and the target of a symbolic link.
Result<Json> entry_json(db::Session& session, const meta::Attributes& attributes);
// The same with its path.
Result<Json> entry_json(db::Session& session, const std::string& path,
                        const meta::Attributes& attributes);

// A caller of the namespace's routes. Rights are judged at the path where a file really is, after
// its symbolic links, so that none leads out of a grant.
class FsCaller {
 public:
  explicit FsCaller(jobs::Principal principal) : principal_(std::move(principal)) {}
  // A user or an admin.
  static Result<FsCaller> of(const ApiContext& context, const net::HttpRequest& request);

  bool is_admin() const { return principal_.is_admin(); }
  Status may_read(const std::string& path) const;
  Status may_write(const std::string& path) const;
  // What is there, if it may be read.
  Result<control::FsPath> readable(db::Session& session, const std::string& path,
                                   control::LastLink last) const;
  // Where something is or may come to be, if it may be written.
  Result<control::FsPath> writable(db::Session& session, const std::string& path,
                                   control::LastLink last) const;

 private:
  jobs::Principal principal_;
};

}  // namespace loam::api
