// SPDX-License-Identifier: Apache-2.0
#include "net/request_reader.h"

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cstring>

#include "base/check.h"

namespace loam::net {

namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::iequals;
using boost::beast::string_view;

// Most headers fit the first read; bodies that pass through the buffer (chunked ones) take more.
constexpr std::size_t kHeaderRead = 4 << 10;
constexpr std::size_t kBodyRead = 64 << 10;

Error bad_request(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

Error parse_error(const error_code& ec) {
  if (ec == http::error::header_limit) {
    return Error{ErrorCode::kTooLarge, "the request header is over the limit"};
  }
  return bad_request("not a valid HTTP/1.1 request: " + ec.message());
}

}  // namespace

struct RequestReader::Buffer {
  explicit Buffer(std::size_t max) : bytes(max) {}
  boost::beast::flat_buffer bytes;
};

// Beast's parser, used for the header alone, with the fields going straight to where we want them.
class RequestReader::Parser final : public http::basic_parser<true> {
 public:
  Parser() { body_limit(boost::none); }

  RequestHead head;
  bool has_transfer_encoding = false;
  bool has_content_length = false;
  int hosts = 0;
  std::string bad;  // what is wrong with the header beyond its syntax

 private:
  void on_request_impl(http::verb, string_view method, string_view target, int version,
                       error_code&) override {
    head.method = std::string(method);
    head.target = std::string(target);
    head.http_1_1 = version == 11;
  }

  void on_response_impl(int, string_view, int, error_code&) override {}

  void on_field_impl(http::field field, string_view name, string_view value, error_code&) override {
    switch (field) {
      case http::field::transfer_encoding:
        if (has_transfer_encoding || !iequals(value, "chunked") || !head.http_1_1) {
          bad = "the only Transfer-Encoding understood is 'chunked', once, with HTTP/1.1";
        }
        has_transfer_encoding = true;
        break;
      case http::field::content_length:
        if (has_content_length || value.find(',') != string_view::npos) {
          bad = "more than one Content-Length";
        }
        has_content_length = true;
        break;
      case http::field::host:
        ++hosts;
        break;
      case http::field::expect:
        if (!iequals(value, "100-continue")) bad = "the only Expect understood is '100-continue'";
        head.expects_continue = true;
        break;
      default:
        break;
    }
    head.headers.add(std::string(name), std::string(value));
  }

  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override {
    return body.size();
  }
  void on_finish_impl(error_code&) override {}
};

RequestReader::RequestReader(std::size_t max_header_bytes)
    : max_header_bytes_(max_header_bytes),
      buffer_(std::make_unique<Buffer>(std::max(max_header_bytes, kBodyRead))) {}

RequestReader::~RequestReader() = default;

std::span<std::byte> RequestReader::prepare() {
  auto& bytes = buffer_->bytes;
  const std::size_t want = body_complete_ ? kHeaderRead : kBodyRead;
  const std::size_t room = std::min(want, bytes.max_size() - bytes.size());
  CHECK(room > 0);
  const auto space = bytes.prepare(room);
  return {static_cast<std::byte*>(space.data()), space.size()};
}

void RequestReader::commit(std::size_t n) {
  buffer_->bytes.commit(n);
}

bool RequestReader::has_buffered() const {
  return buffer_->bytes.size() > 0;
}

// Some clients send a line break too many after a body (RFC 9112 section 2.2).
void RequestReader::skip_empty_line() {
  auto& bytes = buffer_->bytes;
  if (header_bytes_ > 0 || bytes.size() < 2) return;
  const char* at = static_cast<const char*>(bytes.cdata().data());
  if (at[0] != '\r' || at[1] != '\n') return;
  bytes.consume(2);
  header_bytes_ += 2;
}

Result<void> RequestReader::parse_header_bytes() {
  auto& bytes = buffer_->bytes;
  while (bytes.size() > 0 && !parser_->is_header_done()) {
    error_code ec;
    const std::size_t used = parser_->put(bytes.cdata(), ec);
    bytes.consume(used);
    header_bytes_ += used;
    // Beast bounds one line; the sum of all lines is bounded here.
    if (header_bytes_ > max_header_bytes_) return fail(parse_error(http::error::header_limit));
    if (ec == http::error::need_more) {
      if (header_bytes_ + bytes.size() >= max_header_bytes_) {
        return fail(parse_error(http::error::header_limit));
      }
      return {};
    }
    if (ec) return fail(parse_error(ec));
  }
  return {};
}

Result<std::optional<RequestHead>> RequestReader::next_head() {
  if (!parser_) {
    parser_ = std::make_unique<Parser>();
    parser_->header_limit(static_cast<std::uint32_t>(max_header_bytes_));
    header_bytes_ = 0;
  }
  skip_empty_line();
  if (buffer_->bytes.size() >= 2 || header_bytes_ > 0) TRY_VOID(parse_header_bytes());
  if (!parser_->is_header_done()) return std::optional<RequestHead>();
  RequestHead head = std::move(parser_->head);
  if (!parser_->bad.empty()) return fail(bad_request(parser_->bad));
  if (parser_->has_transfer_encoding && parser_->has_content_length) {
    return fail(bad_request("both Content-Length and Transfer-Encoding"));
  }
  if (parser_->hosts > 1 || (head.http_1_1 && parser_->hosts == 0)) {
    return fail(bad_request("there must be exactly one Host"));
  }
  head.keep_alive = parser_->keep_alive();
  if (parser_->has_transfer_encoding) {
    head.body_length.reset();
  } else if (const auto length = parser_->content_length()) {
    if (*length > static_cast<std::uint64_t>(INT64_MAX)) return fail(bad_request("Content-Length"));
    head.body_length = static_cast<std::int64_t>(*length);
  }
  remaining_ = head.body_length;
  body_complete_ = remaining_ == 0;
  if (!remaining_.has_value()) chunked_ = ChunkedDecoder();
  parser_.reset();
  return std::optional<RequestHead>(std::move(head));
}

void RequestReader::limit_chunked_body(std::int64_t max_bytes) {
  chunked_.limit(max_bytes);
}

Result<std::size_t> RequestReader::take_body(std::span<std::byte> out) {
  auto& bytes = buffer_->bytes;
  if (body_complete_ || bytes.size() == 0 || out.empty()) return std::size_t{0};
  const std::span<const std::byte> in(static_cast<const std::byte*>(bytes.cdata().data()),
                                      bytes.size());
  if (remaining_.has_value()) {
    const auto limit = std::min<std::uint64_t>(static_cast<std::uint64_t>(*remaining_), out.size());
    const std::size_t n = std::min<std::size_t>(in.size(), limit);
    std::memcpy(out.data(), in.data(), n);
    bytes.consume(n);
    took_direct(n);
    return n;
  }
  const ChunkedDecoder::Step step = TRY(chunked_.decode(in, out));
  bytes.consume(step.used);
  body_complete_ = chunked_.complete();
  return step.produced;
}

bool RequestReader::body_complete() const {
  return body_complete_;
}

std::int64_t RequestReader::direct_bytes() const {
  return has_buffered() || body_complete_ ? 0 : remaining_.value_or(0);
}

void RequestReader::took_direct(std::size_t n) {
  CHECK(remaining_.has_value() && static_cast<std::int64_t>(n) <= *remaining_);
  *remaining_ -= static_cast<std::int64_t>(n);
  body_complete_ = *remaining_ == 0;
}

}  // namespace loam::net
