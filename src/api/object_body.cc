// SPDX-License-Identifier: Apache-2.0
#include "api/object_body.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "base/log.h"
#include "io/crc32c.h"

namespace loam::api {

namespace {

constexpr std::size_t kChunk = 256 << 10;

}  // namespace

std::optional<object::ByteRange> parse_range(const std::optional<std::string>& header) {
  if (!header || !header->starts_with("bytes=")) return std::nullopt;
  const char* at = header->data() + 6;
  const char* end = header->data() + header->size();
  object::ByteRange range;
  auto [after, error] = std::from_chars(at, end, range.offset);
  if (error != std::errc() || range.offset < 0 || after == end || *after != '-')
    return std::nullopt;
  ++after;
  if (after == end) return range;
  std::int64_t last = 0;
  const auto [rest, bad] = std::from_chars(after, end, last);
  if (bad != std::errc() || rest != end || last < range.offset) return std::nullopt;
  // The length of everything there could be is one more than a length can be.
  if (last - range.offset < INT64_MAX) range.length = last - range.offset + 1;
  return range;
}

Result<object::ObjectInfo> store_body(object::ObjectStore& store, const std::string& key,
                                      net::BodyReader& body,
                                      const std::optional<std::string>& crc32c) {
  std::uint32_t crc = 0;
  const object::Source source = [&](std::span<std::byte> out) -> Result<std::size_t> {
    const std::size_t n = TRY(body.read(out));
    crc = io::crc32c(out.first(n), crc);
    if (n == 0 && crc32c && *crc32c != fmt::format("{:08x}", crc)) {
      return fail(ErrorCode::kUnprocessable,
                  fmt::format("the body's CRC32C is {:08x}, not {} as announced", crc, *crc32c));
    }
    return n;
  };
  object::PutOptions options;
  if (const auto length = body.length()) options.length = *length;
  return store.put(key, source, options);
}

net::HttpResponse content_head(const std::optional<object::ByteRange>& range, std::int64_t length,
                               std::int64_t size, const std::string& etag) {
  net::HttpResponse head{.status = range ? 206 : 200};
  head.headers.set("Content-Type", "application/octet-stream");
  head.headers.set("ETag", etag);
  head.headers.set("Accept-Ranges", "bytes");
  if (range) {
    head.headers.set("Content-Range", fmt::format("bytes {}-{}/{}", range->offset,
                                                  range->offset + length - 1, size));
  }
  return head;
}

void send_stream(const net::ResponderPtr& responder, net::HttpResponse head, std::int64_t length,
                 const object::Source& source, const std::string& what) {
  auto writer = responder->start(std::move(head), length);
  if (!writer) return;
  std::vector<std::byte> buffer(kChunk);
  while (true) {
    const auto n = source(buffer);
    if (!n) {
      // The promised length cannot be kept; dropping the writer breaks the connection.
      LOG_WARN("reading {} failed: {}", what, n.error().to_string());
      return;
    }
    if (*n == 0) break;
    if (!(*writer)->write(std::span(buffer).first(*n))) return;
  }
  if (const Status finished = (*writer)->finish(); !finished) {
    LOG_DEBUG("sending {} ended early: {}", what, finished.error().to_string());
  }
}

void send_object(object::ObjectStore& store, const std::string& key,
                 const net::HttpRequest& request, const net::ResponderPtr& responder) {
  const auto range = parse_range(request.headers.get("Range"));
  const auto reader = store.get(key, range.value_or(object::ByteRange{}),
                                request.headers.get("If-Match").value_or(""));
  if (!reader) return responder->send(net::error_response(reader.error()));
  const object::ObjectInfo& info = (*reader)->info();
  const std::int64_t length = (*reader)->length();
  send_stream(
      responder, content_head(range, length, info.size, info.etag), length,
      [&](std::span<std::byte> out) { return (*reader)->read(out); }, key);
}

}  // namespace loam::api
