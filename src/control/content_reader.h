// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "io/crc32c.h"
#include "meta/open.h"
#include "object/object_store.h"

namespace loam::control {

// The bytes of a file from `range.offset` on, out of the objects in the store that its extents
// name; what no extent covers is zeros. Blocks of which all is read are held against the checksums
// that their writer gave (kDataCorrupt). One thread at a time.
class ContentReader {
 public:
  // `range` lies within the file. Finds the first piece, so that what is not to be had is known
  // before an answer begins: kNotFound if the store has lost it, kConflict if something else lies
  // there now, kUnavailable while it is only on nodes.
  static Result<ContentReader> open(object::ObjectStore& store, meta::OpenFile file,
                                    object::ByteRange range);

  Result<std::size_t> read(std::span<std::byte> out);  // 0 at the end

 private:
  ContentReader(object::ObjectStore& store, meta::OpenFile file, object::ByteRange range)
      : store_(&store), file_(std::move(file)), at_(range.offset), end_(at_ + range.length) {}
  Status open_piece(const meta::Extent& extent);
  Status check(std::span<const std::byte> bytes);

  object::ObjectStore* store_;
  meta::OpenFile file_;
  std::int64_t at_;
  std::int64_t end_;
  std::size_t next_ = 0;  // extent
  std::unique_ptr<object::ObjectReader> piece_;
  std::int64_t piece_end_ = 0;  // in the file
  // Of the piece's object: where in it the next byte lies, and the sum of its block so far if that
  // has been read from its start.
  const meta::Object* object_ = nullptr;
  std::int64_t object_at_ = 0;
  std::optional<std::uint32_t> sum_;
};

}  // namespace loam::control
