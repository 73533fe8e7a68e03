// SPDX-License-Identifier: Apache-2.0
#include "meta/link.h"

#include <fmt/format.h>

#include "meta/change.h"
#include "meta/numbers.h"
#include "meta/policy.h"

namespace loam::meta {

Result<Attributes> link_inode(Operation& op, std::int64_t inode, const Place& place) {
  TRY_VOID(check_new_place(place));
  Attributes attributes = TRY(getattr(op.session, inode));
  if (attributes.is_directory()) {
    return fail(ErrorCode::kPermissionDenied, "a directory has one name only");
  }
  TRY(get_writable_directory(op.session, place.parent));
  if (attributes.nlink == 0) {
    return fail(ErrorCode::kNotFound, fmt::format("inode {} has been removed", inode));
  }
  const Dentry home = TRY(get_home(op.session, attributes));
  TRY(get_writable_directory(op.session, home.place.parent));
  if (TRY(find_entry(op.session, place))) {
    return fail(ErrorCode::kAlreadyExists, fmt::format("there is {} already", to_string(place)));
  }
  const Numbers numbers = TRY(take_numbers(op, {.dentry = 1, .change = 2}));
  TRY_VOID(insert_entry(op, {numbers.dentry, place, inode, true}));
  TRY(op.session.exec("UPDATE inode SET nlink = nlink + 1, ctime_ns = ? WHERE id = ?", op.wall_ns(),
                      inode));
  TRY_VOID(touch_directory(op, place.parent));
  TRY_VOID(write_changes(op, numbers.change,
                         {{.kind = ChangeKind::kEntry, .inode = inode, .place = place},
                          {.kind = ChangeKind::kAttributes, .inode = inode}}));
  ++attributes.nlink;
  attributes.ctime_ns = op.wall_ns();
  return attributes;
}

}  // namespace loam::meta
