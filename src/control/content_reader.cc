// SPDX-License-Identifier: Apache-2.0
#include "control/content_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/encoding.h"
#include "base/units.h"

namespace loam::control {

namespace {

Error explained(const Error& error, const meta::Object& object) {
  const std::string name = printable(object.key.value_or(""));
  if (error.code == ErrorCode::kNotFound) {
    return {ErrorCode::kNotFound,
            fmt::format("the store has no object {} any more; it was removed there, and the "
                        "file's content with it",
                        name)};
  }
  if (error.code == ErrorCode::kPreconditionFailed || error.code == ErrorCode::kInvalidArgument) {
    return {ErrorCode::kConflict,
            fmt::format("the object {} in the store is not the one that was written; something "
                        "else has replaced it",
                        name)};
  }
  return error;
}

const meta::Object& object_of(const meta::OpenFile& file, const meta::ObjectId& id) {
  const auto it =
      std::find_if(file.objects.begin(), file.objects.end(),
                   [&](const meta::OpenObject& candidate) { return candidate.object.id == id; });
  CHECK(it != file.objects.end());
  return it->object;
}

}  // namespace

Result<ContentReader> ContentReader::open(object::ObjectStore& store, meta::OpenFile file,
                                          object::ByteRange range) {
  ContentReader out(store, std::move(file), range);
  const auto& extents = out.file_.extents;
  while (out.next_ < extents.size() &&
         extents[out.next_].file_offset + extents[out.next_].length <= out.at_) {
    ++out.next_;
  }
  if (out.at_ < out.end_ && out.next_ < extents.size() &&
      extents[out.next_].file_offset < out.end_) {
    TRY_VOID(out.open_piece(extents[out.next_]));
  }
  return out;
}

Status ContentReader::open_piece(const meta::Extent& extent) {
  const meta::Object& object = object_of(file_, extent.object);
  if (object.state != meta::ObjectState::kStored) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("object {} is not in the store yet; try again shortly",
                            meta::to_string(object.id)));
  }
  const std::int64_t from = std::max(at_, extent.file_offset);
  piece_end_ = std::min(end_, extent.file_offset + extent.length);
  object_at_ = extent.object_offset + from - extent.file_offset;
  auto piece = store_->get(*object.key, {object_at_, piece_end_ - from}, object.etag.value_or(""));
  if (!piece) return fail(explained(piece.error(), object));
  piece_ = std::move(*piece);
  if (piece_->length() != piece_end_ - from) {
    return fail(explained({ErrorCode::kPreconditionFailed, ""}, object));
  }
  object_ = &object;
  sum_.reset();
  if (object_at_ % kBlockBytes == 0) sum_ = 0;
  return {};
}

Status ContentReader::check(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::int64_t block = object_at_ / kBlockBytes;
    const std::int64_t block_end = std::min((block + 1) * kBlockBytes, object_->length);
    const std::size_t n = std::min(bytes.size(), static_cast<std::size_t>(block_end - object_at_));
    CHECK(n > 0);
    if (sum_) sum_ = io::crc32c(bytes.first(n), *sum_);
    object_at_ += static_cast<std::int64_t>(n);
    bytes = bytes.subspan(n);
    if (object_at_ < block_end) continue;
    const auto wanted = io::packed_checksum(object_->crcs, block);
    if (sum_ && wanted && *sum_ != *wanted) {
      return fail(ErrorCode::kDataCorrupt,
                  fmt::format("block {} of object {} in the store does not match its checksum",
                              block, meta::to_string(object_->id)));
    }
    sum_ = 0;
  }
  return {};
}

Result<std::size_t> ContentReader::read(std::span<std::byte> out) {
  if (at_ == end_ || out.empty()) return 0;
  const auto& extents = file_.extents;
  if (piece_ == nullptr && next_ < extents.size() && extents[next_].file_offset <= at_) {
    TRY_VOID(open_piece(extents[next_]));
  }
  const bool in_piece = next_ < extents.size() && extents[next_].file_offset <= at_;
  const std::int64_t stop = in_piece                 ? piece_end_
                            : next_ < extents.size() ? std::min(end_, extents[next_].file_offset)
                                                     : end_;
  out = out.first(std::min(out.size(), static_cast<std::size_t>(stop - at_)));
  std::size_t n = out.size();
  if (in_piece) {
    n = TRY(piece_->read(out));
    if (n == 0) return fail(ErrorCode::kUnavailable, "the store's answer ended early");
    TRY_VOID(check(out.first(n)));
  } else {
    std::fill(out.begin(), out.end(), std::byte{0});
  }
  at_ += static_cast<std::int64_t>(n);
  if (in_piece && at_ == piece_end_) {
    piece_.reset();
    ++next_;
  }
  return n;
}

}  // namespace loam::control
