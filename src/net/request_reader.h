// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "net/chunked_decoder.h"
#include "net/http_message.h"

namespace loam::net {

// What the header of a request says, besides the fields themselves.
struct RequestHead {
  std::string method;
  std::string target;
  Headers headers;
  bool http_1_1 = true;
  bool keep_alive = true;
  bool expects_continue = false;
  // None for a chunked body; 0 if there is no body.
  std::optional<std::int64_t> body_length = 0;
};

// Turns the bytes of one connection into requests, one after another; does no I/O itself. The
// framing is stricter than RFC 9112 asks: Content-Length together with Transfer-Encoding, or any
// coding but "chunked", is refused, since proxies disagree about where such a request ends.
// Error codes: kInvalidArgument for bad bytes, kTooLarge for a header or body over its bound.
class RequestReader {
 public:
  explicit RequestReader(std::size_t max_header_bytes);
  ~RequestReader();

  // Where to put bytes from the socket, at least one; then how many came.
  std::span<std::byte> prepare();
  void commit(std::size_t n);
  bool has_buffered() const;

  // Reads on in the header. Nothing while bytes are missing.
  Result<std::optional<RequestHead>> next_head();

  // The bound of a chunked body; set between the head and the first take_body.
  void limit_chunked_body(std::int64_t max_bytes);
  // Moves bytes that were committed into `out`. 0 means that more must be committed, or that the
  // body is complete.
  Result<std::size_t> take_body(std::span<std::byte> out);
  bool body_complete() const;
  // How many bytes may be read straight from the socket into their destination, when none are
  // buffered; each such read is told with took_direct.
  std::int64_t direct_bytes() const;
  void took_direct(std::size_t n);

 private:
  class Parser;
  struct Buffer;
  void skip_empty_line();
  Result<void> parse_header_bytes();

  const std::size_t max_header_bytes_;
  std::size_t header_bytes_ = 0;
  std::unique_ptr<Buffer> buffer_;
  std::unique_ptr<Parser> parser_;
  std::optional<std::int64_t> remaining_;  // of a body with a length
  ChunkedDecoder chunked_;                 // of one without
  bool body_complete_ = true;
};

}  // namespace loam::net
