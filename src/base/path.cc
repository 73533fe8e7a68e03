// SPDX-License-Identifier: Apache-2.0
#include "base/path.h"

#include <algorithm>

namespace loam {

PathFault path_fault(std::string_view path, const PathRules& rules) {
  if (path.empty()) return PathFault::kEmpty;
  if (path.size() > rules.max_bytes) return PathFault::kTooLong;
  if (path.find('\0') != std::string_view::npos) return PathFault::kNul;
  if (path.starts_with('/') != rules.absolute) return PathFault::kAbsolute;
  if (rules.absolute) path.remove_prefix(1);
  if (rules.directory_slash && path.ends_with('/')) path.remove_suffix(1);
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view segment = path.substr(start, end - start);
    if (segment.empty()) return PathFault::kEmptySegment;
    if (segment == "." || segment == "..") return PathFault::kDotSegment;
    if (segment.size() > rules.max_segment_bytes) return PathFault::kSegmentTooLong;
    start = end + 1;
  }
  return PathFault::kNone;
}

std::string_view path_fault_text(PathFault fault) {
  switch (fault) {
    case PathFault::kNone:
      return "is a good path";
    case PathFault::kEmpty:
      return "is empty";
    case PathFault::kTooLong:
      return "is too long";
    case PathFault::kNul:
      return "holds a NUL byte";
    case PathFault::kAbsolute:
      return "begins with '/' where it must not, or does not where it must";
    case PathFault::kEmptySegment:
      return "has an empty segment";
    case PathFault::kDotSegment:
      return "may not hold '.' or '..'";
    case PathFault::kSegmentTooLong:
      return "has a segment that is too long";
  }
  return "is no path";
}

}  // namespace loam
