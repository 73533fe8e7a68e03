// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "meta/create.h"
#include "meta/lookup.h"

namespace loam::control {

// Where a path of the namespace leads once the symbolic links on its way are resolved.
struct FsPath {
  std::string path;                            // without links on the way, "/a/b"; "/" for the root
  meta::Place place;                           // {0, ""} for the root
  std::optional<meta::Attributes> attributes;  // nothing: the directory has no such entry
};

enum class LastLink {
  kFollow,  // a symbolic link at the end is resolved, too
  kKeep,
};

inline constexpr int kMaxLinksFollowed = 40;  // as Linux

// `path` as meta::split_path() takes it; targets of links may have "." and "..". kNotFound,
// kNotDirectory for what is on the way; kInvalidArgument for too many links.
Result<FsPath> resolve_path(db::Session& session, std::string_view path, LastLink last);
// The same; kNotFound if there is no such entry.
Result<FsPath> resolve_existing(db::Session& session, std::string_view path, LastLink last);
// The same as resolve_path() once the directories above have been made that were not there.
Result<FsPath> resolve_with_parents(meta::Operation& op, std::string_view path, LastLink last,
                                    const meta::NewInode& parent);

// Whether the caller may do what it wants at a path without links; an error if not.
using Permit = std::function<Status(const std::string& path)>;

}  // namespace loam::control
