// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "object/object_store.h"

// How keys become files below the root of a DirStore; docs/formats/store-layout.md is its page.
namespace loam::object {

// Reserved at the root: temporary files and the lock. The escape keeps every key away from it.
inline constexpr std::string_view kTempFolder = ".loam-tmp";
// A directory whose name ends so holds the rest of an over-long segment.
inline constexpr std::string_view kMoreSuffix = "%more";
// An object whose plain name is taken by a directory ("a" beside "a/b") carries this at its end.
inline constexpr std::string_view kObjectSuffix = "%object";
// Longest piece of an encoded segment in one file name, so that suffixes stay within 255 bytes.
inline constexpr std::size_t kMaxPieceBytes = 240;

// One segment of a key, between slashes, as a file name; before cutting into pieces.
std::string encode_segment(std::string_view segment);
// The inverse; nothing for a text that encode_segment never returns.
std::optional<std::string> decode_segment(std::string_view encoded);

// Where an object lies, relative to the root.
struct KeyPath {
  std::vector<std::string> directories;
  std::string file;  // the plain name; see kObjectSuffix

  std::string directory() const;  // joined by '/'; empty for the root
};
KeyPath path_of_key(std::string_view key);

// "a/b", or "b" where `directory` is empty.
std::string join_path(const std::string& directory, const std::string& name);

struct FoundObject {
  std::string path;  // absolute
  struct stat st {};
};
// The object of that plain name in a directory, if there is one. Follows no link.
Result<std::optional<FoundObject>> find_object(const std::string& directory,
                                               const std::string& file);
// `st` is of the object's file.
ObjectInfo info_from_stat(std::string key, const struct stat& st);

}  // namespace loam::object
