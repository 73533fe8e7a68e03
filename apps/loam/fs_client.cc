// SPDX-License-Identifier: Apache-2.0
#include "loam/fs_client.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "loam/json_text.h"

namespace loam::cli {

namespace {

constexpr std::string_view kScheme = "fs:";
constexpr int kPage = 1'000;

// The bytes of "<key>" or "<key>_b64".
std::string bytes_of(const Json& json, std::string_view key) {
  const std::string encoded = fmt::format("{}_b64", key);
  if (!json.contains(encoded)) return text_of(json, key);
  return base64_decode(text_of(json, encoded)).value_or("");
}

Status check_segments(std::string_view text, std::string_view path) {
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('/'));
    if (name == "." || name == "..") {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}': '.' and '..' have no meaning there", printable(text)));
    }
    path.remove_prefix(name.size());
  }
  return {};
}

}  // namespace

Result<CopyEnd> parse_fs_path(std::string_view text) {
  std::string_view path = text;
  if (path.starts_with(kScheme)) path.remove_prefix(kScheme.size());
  if (!path.starts_with('/')) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not a path of the namespace; write for example "
                            "/datasets/emoji",
                            printable(text)));
  }
  TRY_VOID(check_segments(text, path));
  CopyEnd out{.in_store = true, .path = std::string(path)};
  while (out.path.size() > 1 && out.path.ends_with('/')) {
    out.path.pop_back();
    out.slash = true;
  }
  if (out.path == "/") out.slash = true;
  return out;
}

Result<CopyEnd> parse_fs_copy_end(std::string_view text) {
  if (text.starts_with(kScheme)) return parse_fs_path(text);
  if (text.starts_with("store:")) {
    return fail(ErrorCode::kInvalidArgument,
                "store:/... is for 'loam store cp'; paths of the namespace are written fs:/...");
  }
  return parse_copy_end(text);
}

std::string fs_text(std::string_view path) {
  return fmt::format("{}{}", kScheme, path);
}

FsEntry entry_from(const Json& json) {
  FsEntry out;
  const bool named = json.contains("name") || json.contains("name_b64");
  out.name = bytes_of(json, named ? "name" : "path");
  out.type = text_of(json, "type");
  out.target = bytes_of(json, "target");
  out.mtime = text_of(json, "mtime");
  out.inode = whole_of(json, "inode");
  out.mode = whole_of(json, "mode");
  out.uid = whole_of(json, "uid");
  out.gid = whole_of(json, "gid");
  out.nlink = whole_of(json, "nlink");
  out.size = whole_of(json, "size");
  out.mtime_ns = whole_of(json, "mtime_ns");
  out.generation = whole_of(json, "generation");
  return out;
}

std::string mode_text(const FsEntry& entry) {
  std::string out = entry.type == "directory" ? "d"
                    : entry.type == "symlink" ? "l"
                    : entry.type == "fifo"    ? "p"
                    : entry.type == "socket"  ? "s"
                                              : "-";
  for (int shift = 6; shift >= 0; shift -= 3) {
    const std::int64_t bits = entry.mode >> shift & 7;
    out += (bits & 4) != 0 ? 'r' : '-';
    out += (bits & 2) != 0 ? 'w' : '-';
    out += (bits & 1) != 0 ? 'x' : '-';
  }
  return out;
}

std::string fs_url(std::string_view call, std::string_view path) {
  return fmt::format("/v1/fs/{}?path={}", call, percent_encode(path, true));
}

void put_path(Json& body, std::string_view key, std::string_view path) {
  if (is_valid_utf8(path)) {
    body[std::string(key)] = path;
  } else {
    body[fmt::format("{}_b64", key)] = base64_encode(path);
  }
}

Result<Json> fs_post(const ApiClient& client, std::string_view call, const Json& body) {
  return client.call("POST", fmt::format("/v1/fs/{}", call), body, {});
}

Result<FsEntry> fs_stat(const ApiClient& client, const std::string& path, Links links) {
  const std::string follow = links == Links::kFollow ? "&follow=1" : "";
  return entry_from(TRY(client.get(fs_url("stat", path) + follow)));
}

Result<std::optional<FsEntry>> fs_find(const ApiClient& client, const std::string& path,
                                       Links links) {
  auto entry = fs_stat(client, path, links);
  if (entry) return std::optional(std::move(*entry));
  if (entry.error().code == ErrorCode::kNotFound) return std::optional<FsEntry>();
  return fail(std::move(entry).error());
}

Status for_each_page(const ApiClient& client, const std::string& directory,
                     const std::function<Status(const FsPage& page)>& visit) {
  std::int64_t cookie = 0;
  while (true) {
    Json answer = TRY(
        client.get(fmt::format("{}&limit={}&cookie={}", fs_url("list", directory), kPage, cookie)));
    FsPage page{.raw = member_of(answer, "entries")};
    for (const Json& entry : page.raw)
      page.entries.push_back(entry_from(entry));
    TRY_VOID(visit(page));
    if (member_of(answer, "next_cookie").is_null()) return {};
    cookie = whole_of(answer, "next_cookie");
  }
}

}  // namespace loam::cli
