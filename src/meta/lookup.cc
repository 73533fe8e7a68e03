// SPDX-License-Identifier: Apache-2.0
#include "meta/lookup.h"

#include <fmt/format.h>

#include "base/encoding.h"

namespace loam::meta {

namespace {

// Nothing has the name names[used]: because of what the names before it led to?
Result<Found> nothing_there(db::Session& session, Found so_far,
                            std::span<const std::string> names) {
  so_far.attributes = TRY(getattr(session, so_far.attributes.inode));
  if (so_far.attributes.type == InodeType::kSymlink) return so_far;
  const std::string name = printable(names[so_far.used]);
  if (!so_far.attributes.is_directory()) {
    return fail(ErrorCode::kNotDirectory,
                fmt::format("what should hold '{}' is no directory", name));
  }
  return fail(ErrorCode::kNotFound,
              fmt::format("there is no '{}' (name {} of {})", name, so_far.used + 1, names.size()));
}

}  // namespace

Result<Found> lookup(db::Session& session, std::int64_t directory,
                     std::span<const std::string> names) {
  Found found;
  found.attributes.inode = directory;
  for (const std::string& name : names)
    TRY_VOID(check_name(name));
  // On the way only the entries are read; an inode is looked at where the way ends.
  for (const std::string& name : names) {
    Place place{found.attributes.inode, name};
    const auto entry = TRY(find_entry(session, place));
    if (!entry) return nothing_there(session, std::move(found), names);
    found.attributes.inode = entry->inode;
    found.place = std::move(place);
    ++found.used;
  }
  found.attributes = TRY(getattr(session, found.attributes.inode));
  return found;
}

Result<Found> lookup_path(db::Session& session, std::string_view path) {
  const std::vector<std::string> names = TRY(split_path(path));
  return lookup(session, kRootInode, names);
}

}  // namespace loam::meta
