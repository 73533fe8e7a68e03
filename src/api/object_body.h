// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "net/http_server.h"
#include "object/object_store.h"

namespace loam::api {

// "bytes=a-b" or "bytes=a-"; nothing for other forms, which may be ignored (RFC 9110, 14.2).
std::optional<object::ByteRange> parse_range(const std::optional<std::string>& header);

// Streams a request's body into an object. With `crc32c` (eight hexadecimal digits) a body that
// does not match is kUnprocessable and nothing becomes visible.
Result<object::ObjectInfo> store_body(object::ObjectStore& store, const std::string& key,
                                      net::BodyReader& body,
                                      const std::optional<std::string>& crc32c);

// The head of a whole answer; with `range` of `length` bytes from its offset on, of `size`.
net::HttpResponse content_head(const std::optional<object::ByteRange>& range, std::int64_t length,
                               std::int64_t size, const std::string& etag);

// Answers with a head and `length` bytes that `source` gives. If it fails on the way, the promised
// length is not kept and the connection breaks; `what` is for the log.
void send_stream(const net::ResponderPtr& responder, net::HttpResponse head, std::int64_t length,
                 const object::Source& source, const std::string& what);

// Answers with an object's bytes, or the part that "Range: bytes=a-b" asks for, honouring If-Match.
void send_object(object::ObjectStore& store, const std::string& key,
                 const net::HttpRequest& request, const net::ResponderPtr& responder);

}  // namespace loam::api
