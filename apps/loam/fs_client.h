// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "loam/client.h"
#include "loam/store_path.h"

namespace loam::cli {

// What the commands of `loam fs` share. Paths and names are bytes throughout.

// A path of the namespace, with or without "fs:"; kInvalidArgument for a relative one or one with
// "." or ".." in it.
Result<CopyEnd> parse_fs_path(std::string_view text);
// The same for an end of a copy, where only "fs:/..." is meant so.
Result<CopyEnd> parse_fs_copy_end(std::string_view text);
// "fs:/a/b", as it is typed.
std::string fs_text(std::string_view path);

struct FsEntry {
  std::string name;  // its path if it was asked for by that
  std::string type;  // "file", "directory", "symlink", "fifo" or "socket"
  std::string target;
  std::string mtime;  // as the server writes times
  std::int64_t inode = 0;
  std::int64_t mode = 0;
  std::int64_t uid = 0;
  std::int64_t gid = 0;
  std::int64_t nlink = 0;
  std::int64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t generation = 0;

  bool is_directory() const { return type == "directory"; }
};
FsEntry entry_from(const Json& json);
// "drwxr-xr-x"
std::string mode_text(const FsEntry& entry);

// "/v1/fs/<call>?path=<path>"
std::string fs_url(std::string_view call, std::string_view path);
// Puts "<key>", or "<key>_b64" for what is not UTF-8, into a body.
void put_path(Json& body, std::string_view key, std::string_view path);
// POST /v1/fs/<call>
Result<Json> fs_post(const ApiClient& client, std::string_view call, const Json& body);

enum class Links { kFollow, kKeep };
Result<FsEntry> fs_stat(const ApiClient& client, const std::string& path, Links links);
// Nothing if there is nothing.
Result<std::optional<FsEntry>> fs_find(const ApiClient& client, const std::string& path,
                                       Links links);

// The entries of a directory page by page, as they are and as the server gave them.
struct FsPage {
  std::vector<FsEntry> entries;
  Json raw;  // the answer's "entries"
};
Status for_each_page(const ApiClient& client, const std::string& directory,
                     const std::function<Status(const FsPage& page)>& visit);

}  // namespace loam::cli
