// SPDX-License-Identifier: Apache-2.0
#include "net/request_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

namespace loam::net {
namespace {

struct Parsed {
  std::optional<RequestHead> head;
  std::string body;
  bool complete = false;
  std::optional<Error> error;
};

// Feeds `bytes` in pieces of at most `piece` and takes the body through a window of `window`.
class Feeder {
 public:
  Feeder(std::string_view bytes, std::size_t piece, std::size_t window, std::size_t max_header)
      : bytes_(bytes), piece_(piece), window_(window), reader_(max_header) {}

  Parsed next(std::int64_t max_body = 1 << 20) {
    Parsed out;
    for (;;) {
      auto head = reader_.next_head();
      if (!head) {
        out.error = head.error();
        return out;
      }
      if (*head) {
        out.head = std::move(**head);
        break;
      }
      if (!feed()) return out;
    }
    reader_.limit_chunked_body(max_body);
    std::string window(window_, '\0');
    while (!reader_.body_complete()) {
      const auto n = reader_.take_body(std::as_writable_bytes(std::span(window)));
      if (!n) {
        out.error = n.error();
        return out;
      }
      out.body.append(window.data(), *n);
      if (*n == 0 && !reader_.body_complete() && !feed()) return out;
    }
    out.complete = true;
    return out;
  }

 private:
  bool feed() {
    if (bytes_.empty()) return false;
    const auto room = reader_.prepare();
    const std::size_t n = std::min({room.size(), piece_, bytes_.size()});
    std::memcpy(room.data(), bytes_.data(), n);
    reader_.commit(n);
    bytes_.remove_prefix(n);
    return true;
  }

  std::string_view bytes_;
  const std::size_t piece_;
  const std::size_t window_;
  RequestReader reader_;
};

Parsed parse(std::string_view bytes, std::size_t max_header = 4096, std::int64_t max_body = 1000) {
  return Feeder(bytes, 1 << 20, 100, max_header).next(max_body);
}

ErrorCode error_code(std::string_view bytes, std::size_t max_header = 4096) {
  const Parsed parsed = parse(bytes, max_header);
  EXPECT_TRUE(parsed.error) << bytes;
  return parsed.error.value_or(Error{}).code;
}

TEST(RequestReaderTest, ReadsOneRequestAfterAnother) {
  Feeder feeder(
      "GET /a?b HTTP/1.1\r\nHost: h\r\nX: 1\r\n\r\n"
      "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello"
      "PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nHost: evil\r\nX: 2\r\n\r\n"
      "\r\nGET /d HTTP/1.0\r\n\r\n",
      7, 2, 4096);
  const Parsed a = feeder.next();
  ASSERT_TRUE(a.complete);
  EXPECT_EQ(a.head->method, "GET");
  EXPECT_EQ(a.head->target, "/a?b");
  EXPECT_EQ(a.head->body_length, 0);
  EXPECT_TRUE(a.head->keep_alive);
  const Parsed b = feeder.next();
  ASSERT_TRUE(b.complete);
  EXPECT_EQ(b.body, "hello");
  EXPECT_TRUE(b.head->expects_continue);
  const Parsed c = feeder.next();
  ASSERT_TRUE(c.complete) << (c.error ? c.error->message : "");
  EXPECT_EQ(c.body, "abcde");
  EXPECT_FALSE(c.head->body_length);
  EXPECT_EQ(c.head->headers.all().size(), 2U);  // the trailer is not among them
  const Parsed d = feeder.next();
  ASSERT_TRUE(d.complete);
  EXPECT_FALSE(d.head->keep_alive);
  EXPECT_FALSE(feeder.next().head);
}

TEST(RequestReaderTest, RefusesWhatProxiesDisagreeAbout) {
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const std::string& fields :
       {std::string("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"),
        std::string("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"),
        std::string("Content-Length: 3\r\nContent-Length: 3\r\n"),
        std::string("Content-Length: 3\r\nContent-Length: 4\r\n"),
        std::string("Content-Length: 3, 3\r\n"),
        std::string("Content-Length: -3\r\n"),
        std::string("Content-Length: +3\r\n"),
        std::string("Content-Length: 0x3\r\n"),
        std::string("Content-Length: 99999999999999999999999\r\n"),
        std::string("Content-Length: 18446744073709551615\r\n"),
        std::string("Content-Length:\r\n"),
        std::string("Transfer-Encoding: gzip\r\n"),
        std::string("Transfer-Encoding: gzip, chunked\r\n"),
        std::string("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        std::string("Transfer-Encoding: xchunked\r\n"),
        std::string("Host: other\r\n"),
        std::string("Expect: the worst\r\n"),
        std::string("X : space\r\n"),
        std::string("no colon\r\n"),
        std::string(": no name\r\n"),
        std::string("X: a\rb\r\n"),
        std::string("X: a\nY: b\r\n")}) {
    EXPECT_EQ(error_code(post + fields + "\r\nabc"), ErrorCode::kInvalidArgument) << fields;
  }
  EXPECT_EQ(error_code("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_code("GET / HTTP/1.1\r\n\r\n"), ErrorCode::kInvalidArgument);
}

TEST(RequestReaderTest, RefusesWhatIsNotARequest) {
  for (const char* bytes :
       {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "GET\r\n\r\n", "GET / HTTP/2.0\r\n\r\n",
        "GET / HTTP/1.1 \r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "G@T / HTTP/1.1\r\n\r\n",
        "GET /\x01 HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\r\n\r\n\r\n"}) {
    EXPECT_EQ(error_code(bytes), ErrorCode::kInvalidArgument) << bytes;
  }
}

TEST(RequestReaderTest, BoundsTheHeaderAsAWhole) {
  std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (int i = 0; i < 1000; ++i)
    many += fmt::format("X-{}: y\r\n", i);
  EXPECT_EQ(error_code(many + "\r\n"), ErrorCode::kTooLarge);
  EXPECT_EQ(error_code("GET /" + std::string(5000, 'a')), ErrorCode::kTooLarge);
  EXPECT_EQ(error_code("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(5000, 'a')),
            ErrorCode::kTooLarge);
  for (const std::size_t piece : {1, 100, 4096}) {
    const Parsed parsed = Feeder(many, piece, 10, 4096).next();
    ASSERT_TRUE(parsed.error);
    EXPECT_EQ(parsed.error->code, ErrorCode::kTooLarge);
  }
  EXPECT_TRUE(
      parse("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(3000, 'a') + "\r\n\r\n").complete);
}

TEST(RequestReaderTest, BoundsChunkedBodies) {
  const std::string put = "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto code_of = [&](const std::string& chunks) {
    const Parsed parsed = Feeder(put + chunks, 1000, 64, 4096).next(10);
    return parsed.error ? std::optional(parsed.error->code) : std::nullopt;
  };
  EXPECT_EQ(code_of("a\r\n0123456789\r\n0\r\n\r\n"), std::nullopt);
  EXPECT_EQ(code_of("b\r\n01234567890\r\n0\r\n\r\n"), ErrorCode::kTooLarge);
  EXPECT_EQ(code_of("5\r\n01234\r\n6\r\n567890\r\n0\r\n\r\n"), ErrorCode::kTooLarge);
  EXPECT_EQ(code_of("ffffffffffffffff\r\n"), ErrorCode::kTooLarge);
  EXPECT_EQ(code_of("fffffffffffffffff\r\n"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of("xyz\r\n"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of("3\r\nabcd\r\n0\r\n\r\n"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of("3;" + std::string(200'000, 'x')), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of("0\r\nX: " + std::string(200'000, 'x')), ErrorCode::kInvalidArgument);
}

// However the network cuts a request up, it reads the same.
RC_GTEST_PROP(RequestReaderProperty, PiecesDoNotMatter, ()) {
  const auto body = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const auto cuts =
      *rc::gen::container<std::vector<std::size_t>>(3, rc::gen::inRange<std::size_t>(1, 40));
  const bool chunked = *rc::gen::arbitrary<bool>();
  std::string bytes = "POST /x HTTP/1.1\r\nHost: h\r\n";
  if (chunked) {
    bytes += "Transfer-Encoding: chunked\r\n\r\n";
    for (std::size_t at = 0; at < body.size(); at += cuts[0]) {
      const std::string chunk = body.substr(at, cuts[0]);
      bytes += fmt::format("{:x}\r\n", chunk.size()) + chunk + "\r\n";
    }
    bytes += "0\r\n\r\n";
  } else {
    bytes += fmt::format("Content-Length: {}\r\n\r\n", body.size()) + body;
  }
  const std::string two = bytes + bytes;
  Feeder feeder(two, cuts[1], cuts[2], 4096);
  for (int i = 0; i < 2; ++i) {
    const Parsed parsed = feeder.next();
    RC_ASSERT(parsed.complete);
    RC_ASSERT(parsed.head->target == "/x");
    RC_ASSERT(parsed.body == body);
  }
}

// A valid request with bytes changed, removed or repeated is read or refused, and never crashes.
RC_GTEST_PROP(RequestReaderProperty, SurvivesMutations, ()) {
  std::string bytes =
      "PUT /a/b?c=d HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n"
      "Transfer-Encoding: chunked\r\n\r\n5;e=\"f\"\r\nhello\r\n0\r\nT: v\r\n\r\n";
  const auto edits = *rc::gen::inRange(1, 6);
  for (int i = 0; i < edits; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    const auto kind = *rc::gen::inRange(0, 3);
    const char value = *rc::gen::oneOf(rc::gen::arbitrary<char>(),
                                       rc::gen::elementOf(std::string("\r\n :;,0f\"\t")));
    if (kind == 0) bytes[at] = value;
    if (kind == 1) bytes.insert(at, 1, value);
    if (kind == 2) bytes.erase(at, *rc::gen::inRange<std::size_t>(1, 9));
    if (bytes.empty()) bytes = "x";
  }
  const auto piece = *rc::gen::inRange<std::size_t>(1, 200);
  Feeder feeder(bytes, piece, 16, 512);
  for (int i = 0; i < 8; ++i) {
    if (!feeder.next(100).complete) break;
  }
}

}  // namespace
}  // namespace loam::net
