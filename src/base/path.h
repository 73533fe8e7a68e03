// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace loam {

// What keeps a text from being a path that stays where it is put. The rules are the same for files
// of a work directory, of a checkpoint and of the store; callers say in their own words which path
// was refused and add bounds that only they have.
enum class PathFault {
  kNone,
  kEmpty,
  kTooLong,         // over PathRules::max_bytes
  kNul,             // NUL ends a path in every system call
  kAbsolute,        // begins with '/' where a relative path is wanted, or the other way round
  kEmptySegment,    // "a//b", "a/"
  kDotSegment,      // "." or ".." between slashes
  kSegmentTooLong,  // over PathRules::max_segment_bytes
};

struct PathRules {
  bool absolute = false;
  // One '/' at the end is allowed, as the mark of a directory.
  bool directory_slash = false;
  std::size_t max_bytes = 4096;
  std::size_t max_segment_bytes = 4096;
};

// The first fault of a path, or none. Bytes that are not UTF-8 are left to callers.
PathFault path_fault(std::string_view path, const PathRules& rules);

// Goes after the path in a message: "is empty", "has an empty segment".
std::string_view path_fault_text(PathFault fault);

}  // namespace loam
