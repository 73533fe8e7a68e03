// SPDX-License-Identifier: Apache-2.0
#include "object/object_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/encoding.h"

namespace loam::object {

Source source_from(std::string_view bytes) {
  return [bytes](std::span<std::byte> out) mutable -> Result<std::size_t> {
    const std::size_t n = std::min(out.size(), bytes.size());
    std::memcpy(out.data(), bytes.data(), n);
    bytes.remove_prefix(n);
    return n;
  };
}

Status ObjectStore::remove_all(const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    TRY_VOID(remove(key));
  return {};
}

Result<ObjectInfo> put_bytes(ObjectStore& store, const std::string& key, std::string_view bytes) {
  PutOptions options;
  options.length = static_cast<std::int64_t>(bytes.size());
  return store.put(key, source_from(bytes), options);
}

Result<std::string> get_bytes(ObjectStore& store, const std::string& key, std::int64_t limit) {
  const std::unique_ptr<ObjectReader> reader = TRY(store.get(key, {}, ""));
  if (reader->length() > limit) {
    return fail(ErrorCode::kTooLarge, fmt::format("the object '{}' has {} bytes, over {}",
                                                  printable(key), reader->length(), limit));
  }
  std::string bytes(static_cast<std::size_t>(reader->length()), '\0');
  std::span<std::byte> rest = std::as_writable_bytes(std::span(bytes));
  while (!rest.empty()) {
    const std::size_t n = TRY(reader->read(rest));
    if (n == 0) {
      return fail(ErrorCode::kUnavailable,
                  fmt::format("the body of '{}' ended early", printable(key)));
    }
    rest = rest.subspan(n);
  }
  return bytes;
}

bool advance(ListOptions& options, const ListPage& page) {
  if (!page.next_after) return false;
  CHECK(*page.next_after > options.after);
  options.after = *page.next_after;
  options.token = page.token;
  return true;
}

Status for_each_object(ObjectStore& store, const std::string& prefix,
                       const std::function<Status(const ObjectInfo&)>& visit) {
  ListOptions options;
  for (;;) {
    const ListPage page = TRY(store.list(prefix, options));
    for (const ObjectInfo& object : page.objects)
      TRY_VOID(visit(object));
    if (!advance(options, page)) return {};
  }
}

Status check_key(std::string_view key) {
  if (key.empty()) return fail(ErrorCode::kInvalidArgument, "an object's key may not be empty");
  if (key.size() > kMaxKeyBytes) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the key '{}...' has {} bytes; at most {} are allowed",
                            printable(key.substr(0, 64)), key.size(), kMaxKeyBytes));
  }
  if (key.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the key '{}' holds a NUL byte", printable(key)));
  }
  return {};
}

Status check_put(std::string_view key, const PutOptions& options) {
  TRY_VOID(check_key(key));
  if (options.if_absent && !options.if_match.empty()) {
    return fail(ErrorCode::kInvalidArgument, "if_absent and if_match exclude each other");
  }
  if (options.length < -1) {
    return fail(ErrorCode::kInvalidArgument, "the length of an object cannot be negative");
  }
  return {};
}

Status check_list(std::string_view prefix, const ListOptions& options) {
  if (!prefix.empty()) TRY_VOID(check_key(prefix));
  if (options.limit < 1 || options.limit > kMaxListLimit) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a list takes 1 to {} entries, not {}", kMaxListLimit, options.limit));
  }
  return {};
}

Result<ByteRange> resolve_range(ByteRange range, std::int64_t size) {
  if (range.offset < 0 || range.length < -1 || range.offset > size) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the range at {} of length {} is not within an object of {} bytes",
                            range.offset, range.length, size));
  }
  const std::int64_t rest = size - range.offset;
  range.length = range.length < 0 ? rest : std::min(range.length, rest);
  return range;
}

}  // namespace loam::object
