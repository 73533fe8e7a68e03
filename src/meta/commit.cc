// SPDX-License-Identifier: Apache-2.0
#include "meta/commit.h"

#include <fmt/format.h>

#include <map>

#include "meta/object.h"

namespace loam::meta {

namespace {

constexpr std::size_t kMaxHolders = 16;
constexpr std::size_t kMaxCrcBytes = 64 << 10;  // of 64 GiB; longer objects keep theirs elsewhere

tl::unexpected<Error> invalid(const std::string& why) {
  return fail(ErrorCode::kInvalidArgument, "a commit " + why);
}

Status check_bounds(const Commit& commit) {
  if (commit.size < 0 || commit.object_length < 0) return invalid("has a length below 0");
  if (commit.holders.empty() != commit.stored_etag.has_value()) {
    return invalid("needs either holders of its bytes or their ETag in the store");
  }
  if (commit.holders.size() > kMaxHolders || commit.extents.size() > kMaxExtents ||
      commit.crcs.size() > kMaxCrcBytes) {
    return fail(ErrorCode::kTooLarge,
                fmt::format("a commit has at most {} holders, {} extents and {} bytes of checksums",
                            kMaxHolders, kMaxExtents, kMaxCrcBytes));
  }
  return {};
}

// The lengths of the objects that extents may name, by number.
Result<std::map<std::int64_t, Extent>> usable_objects(Operation& op, const Commit& commit) {
  std::map<std::int64_t, Extent> out;
  for (const db::Row& row : TRY(op.session.rows(
           "SELECT DISTINCT o.number, o.nonce, o.length FROM extent e JOIN object o ON o.number = "
           "e.object WHERE e.inode = ?",
           commit.inode))) {
    out[row.integer(0)] = {.length = row.integer(2), .object = {row.integer(0), row.integer(1)}};
  }
  out[commit.object.number] = {.length = commit.object_length, .object = commit.object};
  return out;
}

Status check_extents(Operation& op, const Commit& commit) {
  const auto objects = TRY(usable_objects(op, commit));
  std::int64_t end = 0;
  bool new_one = commit.extents.empty();
  for (const Extent& extent : commit.extents) {
    if (extent.file_offset < end || extent.length <= 0 ||
        extent.length > commit.size - extent.file_offset) {
      return invalid("has extents that overlap, are out of order or pass the file's end");
    }
    end = extent.file_offset + extent.length;
    const auto object = objects.find(extent.object.number);
    if (object == objects.end() || object->second.object != extent.object) {
      return invalid(
          fmt::format("names object {}, which is none of the file's", to_string(extent.object)));
    }
    if (extent.object_offset < 0 || extent.length > object->second.length - extent.object_offset) {
      return invalid(fmt::format("reaches beyond object {}", to_string(extent.object)));
    }
    new_one = new_one || extent.object == commit.object;
  }
  return new_one ? Status() : invalid("does not use its own object");
}

// The call is repeated: what it did.
Result<Committed> repeated(Operation& op, const Commit& commit, const Object& object) {
  if (object.generation == 0 || object.inode != commit.inode) {
    return fail(ErrorCode::kConflict,
                fmt::format("object {} is not to be committed here", to_string(object.id)));
  }
  const auto kept = TRY(
      op.session.row("SELECT keep_until_lc FROM file_version WHERE inode = ? AND generation = ?",
                     object.inode, object.generation - 1));
  return Committed{object.generation, kept && !kept->is_null(0)};
}

Status stage(Operation& op, const Commit& commit, std::int64_t generation) {
  std::optional<std::string> crcs;
  if (!commit.crcs.empty()) crcs = commit.crcs;
  const auto state = commit.stored_etag ? ObjectState::kStored : ObjectState::kStaged;
  TRY(
      op.session.exec("UPDATE object SET state = ?, length = ?, generation = ?, crcs = ?, etag = "
                      "?, node = NULL, epoch = NULL WHERE number = ?",
                      static_cast<std::int64_t>(state), commit.object_length, generation, crcs,
                      commit.stored_etag, commit.object.number));
  for (const std::string& holder : commit.holders) {
    TRY(op.session.exec("INSERT INTO holder (object, node) VALUES (?, ?) ON CONFLICT DO NOTHING",
                        commit.object.number, holder));
  }
  return {};
}

}  // namespace

Result<Committed> commit_content(Operation& op, const NodeRef& ref, const Commit& commit) {
  TRY_VOID(check_bounds(commit));
  const Object object = TRY(get_object(op.session, commit.object));
  if (object.state != ObjectState::kWriting) return repeated(op, commit, object);
  TRY_VOID(check_session(op, ref));
  if (!is_reserved_by(object, ref)) {
    return fail(ErrorCode::kLeaseLost,
                fmt::format("object {} was reserved by another session", to_string(object.id)));
  }
  if (commit.stored_etag && !object.key && !commit.extents.empty()) {
    return invalid("names an object as stored that has no key");
  }
  const Attributes file = TRY(getattr(op.session, commit.inode));
  if (object.inode != file.inode) return invalid("names an object of another file");
  if (commit.base_generation < 0 || commit.base_generation > file.generation) {
    return invalid("begins from a generation that is not there yet");
  }
  const bool changed = commit.base_generation != file.generation;
  if (changed && commit.only_if_unchanged) {
    return fail(ErrorCode::kPreconditionFailed,
                fmt::format("inode {} has generation {}, not {}", file.inode, file.generation,
                            commit.base_generation));
  }
  TRY_VOID(check_extents(op, commit));
  TRY_VOID(admit_content(op, file, commit.size));
  TRY_VOID(stage(op, commit, file.generation + 1));
  const Content content{commit.size, commit.extents, commit.mtime_ns.value_or(op.wall_ns())};
  const std::int64_t generation = TRY(put_content(op, file, content, changed));
  if (commit.extents.empty()) TRY_VOID(retire_object(op, commit.object.number));
  return Committed{generation, changed};
}

}  // namespace loam::meta
