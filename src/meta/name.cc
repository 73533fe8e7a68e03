// SPDX-License-Identifier: Apache-2.0
#include "meta/name.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "meta/inode.h"

namespace loam::meta {

std::string to_string(const Place& place) {
  return fmt::format("'{}' in directory {}", printable(place.name), place.parent);
}

Status check_name(std::string_view name) {
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' cannot be the name of an entry", printable(name)));
  }
  if (name.size() > kMaxNameBytes) {
    return fail(ErrorCode::kTooLarge, fmt::format("a name has at most {} bytes, this one {}",
                                                  kMaxNameBytes, name.size()));
  }
  return {};
}

Status check_new_place(const Place& place) {
  TRY_VOID(check_name(place.name));
  if (place.parent == kRootInode && place.name == kReservedName) {
    return fail(ErrorCode::kPermissionDenied, "/.loam is reserved for Loam's own objects");
  }
  return {};
}

Result<std::vector<std::string>> split_path(std::string_view path) {
  if (path.size() > kMaxPathBytes) {
    return fail(ErrorCode::kTooLarge, fmt::format("a path has at most {} bytes, this one {}",
                                                  kMaxPathBytes, path.size()));
  }
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) {
      TRY_VOID(check_name(path.substr(0, end)));
      names.emplace_back(path.substr(0, end));
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return names;
}

}  // namespace loam::meta
