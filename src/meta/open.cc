// SPDX-License-Identifier: Apache-2.0
#include "meta/open.h"

#include <fmt/format.h>

#include <set>

#include "meta/entry.h"

namespace loam::meta {

Result<OpenFile> open_file(db::Session& session, std::int64_t inode) {
  OpenFile out{.attributes = TRY(getattr(session, inode))};
  if (out.attributes.is_directory()) {
    return fail(ErrorCode::kIsDirectory, fmt::format("inode {} is a directory", inode));
  }
  if (out.attributes.type != InodeType::kFile) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("inode {} is no file", inode));
  }
  out.extents = TRY(read_extents(session, inode, out.attributes.generation));
  std::set<std::int64_t> seen;
  for (const Extent& extent : out.extents) {
    if (!seen.insert(extent.object.number).second) continue;
    out.objects.push_back(
        {TRY(get_object(session, extent.object)), TRY(holders_of(session, extent.object.number))});
  }
  if (out.attributes.nlink > 0) {
    const Dentry home = TRY(get_home(session, out.attributes));
    out.policies = TRY(get_policies(session, home.place.parent));
  }
  return out;
}

}  // namespace loam::meta
