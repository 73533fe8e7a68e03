// SPDX-License-Identifier: Apache-2.0
#include "meta/create.h"

#include <fmt/format.h>

#include "meta/change.h"
#include "meta/numbers.h"
#include "meta/policy.h"
#include "meta/usage.h"

namespace loam::meta {

namespace {

constexpr std::int64_t kSetGroupId = 02000;

tl::unexpected<Error> taken(const Place& place) {
  return fail(ErrorCode::kAlreadyExists, fmt::format("there is {} already", to_string(place)));
}

Attributes describe(Operation& op, const Attributes& parent, InodeType type, const NewInode& inode,
                    std::int64_t size) {
  Attributes out;
  out.type = type;
  out.mode = inode.mode & 07777;
  out.uid = inode.uid;
  out.gid = inode.gid;
  if ((parent.mode & kSetGroupId) != 0) {
    out.gid = parent.gid;
    if (type == InodeType::kDirectory) out.mode |= kSetGroupId;
  }
  out.nlink = type == InodeType::kDirectory ? 2 : 1;
  out.size = size;
  out.mtime_ns = out.ctime_ns = out.atime_ns = op.wall_ns();
  return out;
}

// The name is free and the parent is writable.
Result<Attributes> make(Operation& op, const WritableDirectory& parent, const Place& place,
                        InodeType type, const NewInode& inode, std::int64_t size) {
  TRY_VOID(admit_growth(op, parent.policies, {size, 1}));
  const Numbers numbers = TRY(take_numbers(op, {.inode = 1, .dentry = 1, .change = 1}));
  Attributes made = describe(op, parent.attributes, type, inode, size);
  made.inode = numbers.inode;
  made.home = numbers.dentry;
  TRY_VOID(insert_inode(op, made));
  TRY_VOID(insert_entry(op, {numbers.dentry, place, made.inode, false}));
  TRY_VOID(touch_directory(op, place.parent, made.is_directory() ? 1 : 0));
  TRY_VOID(add_usage(op, place.parent, {size, 1}));
  TRY_VOID(write_changes(op, numbers.change,
                         {{.kind = ChangeKind::kEntry, .inode = made.inode, .place = place}}));
  return made;
}

Result<Attributes> make_new(Operation& op, const Place& place, InodeType type,
                            const NewInode& inode, std::int64_t size) {
  TRY_VOID(check_new_place(place));
  const WritableDirectory parent = TRY(get_writable_directory(op.session, place.parent));
  if (TRY(find_entry(op.session, place))) return taken(place);
  return make(op, parent, place, type, inode, size);
}

}  // namespace

Result<Created> create_file(Operation& op, const Place& place, const NewInode& inode,
                            bool exclusive) {
  TRY_VOID(check_new_place(place));
  if (const auto entry = TRY(find_entry(op.session, place))) {
    if (exclusive) return taken(place);
    Created out{TRY(getattr(op.session, entry->inode)), true};
    if (out.attributes.is_directory()) {
      return fail(ErrorCode::kIsDirectory, fmt::format("{} is a directory", to_string(place)));
    }
    if (out.attributes.type != InodeType::kFile) return taken(place);
    return out;
  }
  const WritableDirectory parent = TRY(get_writable_directory(op.session, place.parent));
  return Created{TRY(make(op, parent, place, InodeType::kFile, inode, 0)), false};
}

Result<Attributes> make_special(Operation& op, const Place& place, InodeType type,
                                const NewInode& inode) {
  if (type != InodeType::kFifo && type != InodeType::kSocket) {
    return fail(ErrorCode::kInvalidArgument, "only FIFOs and sockets are made this way");
  }
  return make_new(op, place, type, inode, 0);
}

Result<Attributes> make_directory(Operation& op, const Place& place, const NewInode& inode) {
  return make_new(op, place, InodeType::kDirectory, inode, 0);
}

Result<Attributes> make_symlink(Operation& op, const Place& place, const std::string& target,
                                const NewInode& inode) {
  if (target.empty() || target.find('\0') != std::string::npos) {
    return fail(ErrorCode::kInvalidArgument, "a symbolic link needs a target without NUL");
  }
  if (target.size() > kMaxTargetBytes) {
    return fail(ErrorCode::kTooLarge, fmt::format("the target of a symbolic link has at most {} "
                                                  "bytes, this one {}",
                                                  kMaxTargetBytes, target.size()));
  }
  const Attributes made = TRY(
      make_new(op, place, InodeType::kSymlink, inode, static_cast<std::int64_t>(target.size())));
  TRY(op.session.exec("INSERT INTO symlink (inode, target) VALUES (?, ?)", made.inode, target));
  return made;
}

Result<std::string> read_symlink(db::Session& session, std::int64_t inode) {
  const auto row = TRY(session.row("SELECT target FROM symlink WHERE inode = ?", inode));
  if (row) return row->text(0);
  TRY(getattr(session, inode));
  return fail(ErrorCode::kInvalidArgument, fmt::format("inode {} is no symbolic link", inode));
}

}  // namespace loam::meta
