// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace loam::cli {

// One end of a copy. Store paths are written "store:/datasets/emoji".
struct CopyEnd {
  bool in_store = false;
  std::string path;  // without a trailing '/', but for "/" itself
  // Written with a '/' at the end (or as ".", "..", "x/."): as a source its contents are meant, as
  // a destination the directory.
  bool slash = false;
};

Result<CopyEnd> parse_copy_end(std::string_view text);

// A path of the store, with or without "store:"; kInvalidArgument for a relative one or one with
// empty,
// "." or ".." segments.
Result<CopyEnd> parse_store_path(std::string_view text);

// The last segment; "" for "/".
std::string base_name(std::string_view path);
std::string join_path(std::string_view directory, std::string_view name);

// Where the copy of `from` goes, by the rules of cp -r: into `to` if that is a directory (or is
// written as one), else to `to`. The contents of a directory that was written with a trailing '/'
// go straight into `to`, so that repeating the command gives the same result.
std::string copy_destination(const CopyEnd& from, bool from_is_directory, const CopyEnd& to,
                             bool to_is_directory);

// "store:/a/b", as it is typed.
std::string store_text(std::string_view path);

}  // namespace loam::cli
