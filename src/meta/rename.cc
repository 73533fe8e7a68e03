// SPDX-License-Identifier: Apache-2.0
#include "meta/rename.h"

#include <fmt/format.h>

#include "meta/ancestry.h"
#include "meta/change.h"
#include "meta/numbers.h"
#include "meta/policy.h"
#include "meta/unlink.h"
#include "meta/usage.h"

namespace loam::meta {

namespace {

// One end of the move: its directory, and what stands there.
struct End {
  WritableDirectory directory;
  Dentry dentry;
  Attributes attributes;

  std::int64_t parent() const { return directory.attributes.inode; }
  bool is_directory() const { return attributes.is_directory(); }
};

// What a link counts for where it is, with all that lies below.
Result<Usage> weight(Operation& op, const End& end) {
  if (end.dentry.extra) return Usage{};
  if (!end.is_directory()) return Usage{end.attributes.size, 1};
  const Usage below = TRY(disk_usage(op.session, end.dentry.inode));
  return Usage{below.bytes, below.files + 1};
}

Status admit_move(Operation& op, const End& moved, const End* replaced,
                  const WritableDirectory& to) {
  const Policies entered = entered_policies(moved.directory.policies, to.policies);
  if (entered.quotas.empty()) return {};
  if (moved.is_directory()) TRY_VOID(fold_all_usage(op));
  Usage growth = TRY(weight(op, moved));
  if (replaced != nullptr) {
    const Usage gone = TRY(weight(op, *replaced));
    growth.bytes -= gone.bytes;
    growth.files -= gone.files;
  }
  return admit_growth(op, entered, growth);
}

Status move_weight(Operation& op, const End& moved, std::int64_t to) {
  if (moved.dentry.extra || moved.parent() == to) return {};
  if (moved.is_directory()) {
    return move_directory_usage(op, moved.dentry.inode, moved.parent(), to);
  }
  TRY_VOID(add_usage(op, moved.parent(), {-moved.attributes.size, -1}));
  return add_usage(op, to, {moved.attributes.size, 1});
}

Status touch_both(Operation& op, std::int64_t from, std::int64_t from_subdirectories,
                  std::int64_t to, std::int64_t to_subdirectories) {
  if (from == to) return touch_directory(op, from, from_subdirectories + to_subdirectories);
  TRY_VOID(touch_directory(op, from, from_subdirectories));
  return touch_directory(op, to, to_subdirectories);
}

Status check_no_cycle(Operation& op, const End& moved, std::int64_t to) {
  if (!moved.is_directory() || !TRY(is_within(op.session, to, moved.dentry.inode))) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} would come below itself", to_string(moved.dentry.place)));
}

Status check_replaceable(Operation& op, const End& moved, const End& old) {
  if (moved.is_directory() && !old.is_directory()) {
    return fail(ErrorCode::kNotDirectory,
                fmt::format("{} is no directory", to_string(old.dentry.place)));
  }
  if (!moved.is_directory() && old.is_directory()) {
    return fail(ErrorCode::kIsDirectory,
                fmt::format("{} is a directory", to_string(old.dentry.place)));
  }
  if (old.is_directory() && !TRY(is_empty(op.session, old.dentry.inode))) {
    return fail(ErrorCode::kNotEmpty, fmt::format("{} is not empty", to_string(old.dentry.place)));
  }
  return {};
}

// `old` is what stands at `to`, if anything does.
Status move(Operation& op, const End& moved, const End* old, const WritableDirectory& directory,
            const Place& to) {
  TRY_VOID(admit_move(op, moved, old, directory));
  const Numbers numbers = TRY(take_numbers(op, {.dentry = 1, .change = 2}));
  TRY_VOID(write_changes(
      op, numbers.change,
      {{.kind = ChangeKind::kEntry, .inode = moved.dentry.inode, .place = moved.dentry.place},
       {.kind = ChangeKind::kEntry, .inode = moved.dentry.inode, .place = to}}));
  if (old != nullptr && old->is_directory()) {
    TRY_VOID(drop_directory(op, old->dentry));
  } else if (old != nullptr) {
    TRY_VOID(drop_link(op, old->dentry, old->attributes));
  }
  TRY_VOID(move_entry(op, moved.dentry, numbers.dentry, to));
  TRY_VOID(move_weight(op, moved, to.parent));
  const std::int64_t one = moved.is_directory() ? 1 : 0;
  const std::int64_t replaced = old != nullptr && old->is_directory() ? 1 : 0;
  return touch_both(op, moved.parent(), -one, to.parent, one - replaced);
}

Status exchange(Operation& op, const End& a, const End& b) {
  TRY_VOID(check_no_cycle(op, b, a.parent()));
  TRY_VOID(admit_move(op, a, &b, b.directory));
  TRY_VOID(admit_move(op, b, &a, a.directory));
  const Numbers numbers = TRY(take_numbers(op, {.dentry = 2, .change = 2}));
  TRY_VOID(write_changes(
      op, numbers.change,
      {{.kind = ChangeKind::kEntry, .inode = b.dentry.inode, .place = a.dentry.place},
       {.kind = ChangeKind::kEntry, .inode = a.dentry.inode, .place = b.dentry.place}}));
  TRY_VOID(remove_entry(op, a.dentry));
  TRY_VOID(remove_entry(op, b.dentry));
  TRY_VOID(insert_entry(op, {numbers.dentry, b.dentry.place, a.dentry.inode, a.dentry.extra}));
  TRY_VOID(insert_entry(op, {numbers.dentry + 1, a.dentry.place, b.dentry.inode, b.dentry.extra}));
  TRY_VOID(set_home(op, a.dentry, numbers.dentry));
  TRY_VOID(set_home(op, b.dentry, numbers.dentry + 1));
  TRY_VOID(move_weight(op, a, b.parent()));
  TRY_VOID(move_weight(op, b, a.parent()));
  const std::int64_t more =
      static_cast<std::int64_t>(b.is_directory()) - static_cast<std::int64_t>(a.is_directory());
  return touch_both(op, a.parent(), more, b.parent(), -more);
}

}  // namespace

Status rename_entry(Operation& op, const Place& from, const Place& to, RenameMode mode) {
  TRY_VOID(check_name(from.name));
  TRY_VOID(check_new_place(to));
  End moved{.directory = TRY(get_writable_directory(op.session, from.parent))};
  const WritableDirectory directory = TRY(get_writable_directory(op.session, to.parent));
  moved.dentry = TRY(get_entry(op.session, from));
  const auto there = TRY(find_entry(op.session, to));
  if (there && mode == RenameMode::kNoReplace) {
    return fail(ErrorCode::kAlreadyExists, fmt::format("there is {} already", to_string(to)));
  }
  if (!there && mode == RenameMode::kExchange) {
    return fail(ErrorCode::kNotFound, fmt::format("there is no {}", to_string(to)));
  }
  moved.attributes = TRY(getattr(op.session, moved.dentry.inode));
  TRY_VOID(check_no_cycle(op, moved, to.parent));
  if (!there) return move(op, moved, nullptr, directory, to);
  if (there->inode == moved.dentry.inode) return {};
  const End old{directory, *there, TRY(getattr(op.session, there->inode))};
  if (mode == RenameMode::kExchange) return exchange(op, moved, old);
  TRY_VOID(check_replaceable(op, moved, old));
  return move(op, moved, &old, directory, to);
}

}  // namespace loam::meta
