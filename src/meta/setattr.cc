// SPDX-License-Identifier: Apache-2.0
#include "meta/setattr.h"

#include <fmt/format.h>

#include "meta/change.h"
#include "meta/content.h"
#include "meta/entry.h"
#include "meta/policy.h"

namespace loam::meta {

namespace {

Status check(const AttributeChange& change) {
  if (change.mode && (*change.mode < 0 || *change.mode > 07777)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a mode is 0 to 07777, not {:o}", *change.mode));
  }
  for (const auto& value : {change.uid, change.gid, change.size}) {
    if (value.value_or(0) >= 0) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("an owner or a size is not below 0, as {} is", *value));
  }
  return {};
}

Status check_not_sealed(Operation& op, const Attributes& attributes) {
  std::int64_t directory = attributes.inode;
  if (!attributes.is_directory()) {
    if (attributes.nlink == 0) return {};
    directory = TRY(get_home(op.session, attributes)).place.parent;
  }
  if (!TRY(get_policies(op.session, directory)).sealed) return {};
  return fail(ErrorCode::kReadOnly, fmt::format("inode {} is sealed", attributes.inode));
}

Status truncate(Operation& op, const Attributes& file, std::int64_t size) {
  if (file.is_directory()) {
    return fail(ErrorCode::kIsDirectory, fmt::format("inode {} is a directory", file.inode));
  }
  if (file.type != InodeType::kFile) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("inode {} is no file", file.inode));
  }
  if (size == file.size) return {};
  TRY_VOID(admit_content(op, file, size));
  Content content{.size = size, .mtime_ns = op.wall_ns()};
  for (Extent& extent : TRY(read_extents(op.session, file.inode, file.generation))) {
    if (extent.file_offset >= size) break;
    extent.length = std::min(extent.length, size - extent.file_offset);
    content.extents.push_back(extent);
  }
  TRY(put_content(op, file, content, /*overwritten=*/false));
  return {};
}

}  // namespace

Result<Attributes> setattr(Operation& op, std::int64_t inode, const AttributeChange& change) {
  TRY_VOID(check(change));
  const Attributes before = TRY(getattr(op.session, inode));
  TRY_VOID(check_not_sealed(op, before));
  if (change.size) TRY_VOID(truncate(op, before, *change.size));
  TRY(op.session.exec(
      "UPDATE inode SET mode = coalesce(?, mode), uid = coalesce(?, uid), gid = "
      "coalesce(?, gid), mtime_ns = coalesce(?, mtime_ns), atime_ns = coalesce(?, "
      "atime_ns), ctime_ns = ? WHERE id = ?",
      change.mode, change.uid, change.gid, change.mtime_ns, change.atime_ns, op.wall_ns(), inode));
  TRY(log_change(op, ChangeKind::kAttributes, inode));
  return getattr(op.session, inode);
}

}  // namespace loam::meta
