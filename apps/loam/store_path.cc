// SPDX-License-Identifier: Apache-2.0
#include "loam/store_path.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/path.h"

namespace loam::cli {

namespace {

constexpr std::string_view kScheme = "store:";

// "/" is the store itself, which only commands that list take.
Status check_segments(std::string_view text, std::string_view path) {
  const PathRules rules{.absolute = true, .directory_slash = true};
  if (path == "/" || path_fault(path, rules) == PathFault::kNone) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is not a path of the store: '.', '..' and '//' have no meaning "
                          "there",
                          printable(text)));
}

CopyEnd without_slashes(std::string_view path, bool in_store) {
  CopyEnd out{.in_store = in_store, .path = std::string(path)};
  while (out.path.size() > 1 && out.path.ends_with('/')) {
    out.path.pop_back();
    out.slash = true;
  }
  if (out.path == "/") out.slash = true;
  return out;
}

}  // namespace

Result<CopyEnd> parse_store_path(std::string_view text) {
  std::string_view path = text;
  if (path.starts_with(kScheme)) path.remove_prefix(kScheme.size());
  if (!path.starts_with('/')) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not a path of the store; write for example "
                            "store:/datasets/emoji",
                            printable(text)));
  }
  TRY_VOID(check_segments(text, path));
  return without_slashes(path, true);
}

Result<CopyEnd> parse_copy_end(std::string_view text) {
  if (text.starts_with(kScheme)) return parse_store_path(text);
  if (text.empty() || text.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument, "a path must not be empty");
  }
  CopyEnd out = without_slashes(text, false);
  const std::string name = base_name(out.path);
  if (name == "." || name == "..") out.slash = true;
  return out;
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.ends_with('/')) return fmt::format("{}{}", directory, name);
  return fmt::format("{}/{}", directory, name);
}

std::string copy_destination(const CopyEnd& from, bool from_is_directory, const CopyEnd& to,
                             bool to_is_directory) {
  if (from_is_directory && from.slash) return to.path;
  if (to.slash || to_is_directory) return join_path(to.path, base_name(from.path));
  return to.path;
}

std::string store_text(std::string_view path) {
  return fmt::format("{}{}", kScheme, path);
}

}  // namespace loam::cli
