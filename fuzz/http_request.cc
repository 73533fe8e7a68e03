// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "fuzz/targets.h"
#include "net/chunked_decoder.h"
#include "net/request_reader.h"

namespace loam::fuzz {

namespace {

constexpr std::size_t kMaxHeader = 1024;
constexpr std::int64_t kMaxChunkedBody = 4096;

// Everything that a connection would learn from its bytes, and how it ended.
struct Heard {
  std::vector<std::string> requests;
  std::optional<ErrorCode> error;
  bool operator==(const Heard&) const = default;
};

std::string text_of(const net::RequestHead& head) {
  std::string out = head.method + " " + head.target + (head.http_1_1 ? " 1.1" : " 1.0") +
                    (head.keep_alive ? " keep" : "") + (head.expects_continue ? " expect" : "");
  for (const auto& [name, value] : head.headers.all())
    out += "\n" + name + ": " + value;
  return out + "\n\n";
}

// Feeds one reader as the connection does: the header first, then the body as far as it goes.
class Listener {
 public:
  explicit Listener(std::size_t out_bytes) : reader_(kMaxHeader), out_(out_bytes) {}

  void take(std::string_view piece) {
    while (!piece.empty() && !heard_.error) {
      const std::span<std::byte> space = reader_.prepare();
      CHECK(!space.empty());
      const std::size_t n = std::min(space.size(), piece.size());
      std::memcpy(space.data(), piece.data(), n);
      reader_.commit(n);
      piece.remove_prefix(n);
      advance();
    }
  }
  const Heard& heard() const { return heard_; }

 private:
  void advance() {
    while (!heard_.error && (in_body_ ? take_body() : take_head())) {
    }
  }
  bool take_head() {
    auto head = reader_.next_head();
    if (!head) return stop(head.error());
    if (!*head) return false;
    CHECK(!(*head)->method.empty() && !(*head)->target.empty());
    heard_.requests.push_back(text_of(**head));
    expected_ = (*head)->body_length;
    CHECK(!expected_ || *expected_ >= 0);
    if (!expected_) reader_.limit_chunked_body(kMaxChunkedBody);
    body_bytes_ = 0;
    in_body_ = true;
    return true;
  }
  bool take_body() {
    if (reader_.body_complete()) {
      CHECK(!expected_ || *expected_ == body_bytes_);
      in_body_ = false;
      return reader_.has_buffered();
    }
    const auto n = reader_.take_body(out_);
    if (!n) return stop(n.error());
    CHECK(*n <= out_.size());
    body_bytes_ += static_cast<std::int64_t>(*n);
    CHECK(body_bytes_ <= expected_.value_or(kMaxChunkedBody));
    heard_.requests.back().append(reinterpret_cast<const char*>(out_.data()), *n);
    return *n > 0 || reader_.body_complete();
  }
  bool stop(const Error& error) {
    CHECK(error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kTooLarge);
    heard_.error = error.code;
    return false;
  }

  net::RequestReader reader_;
  std::vector<std::byte> out_;
  Heard heard_;
  bool in_body_ = false;
  std::optional<std::int64_t> expected_;
  std::int64_t body_bytes_ = 0;
};

struct Decoded {
  std::string bytes;
  bool complete = false;
  std::size_t used = 0;
  std::optional<ErrorCode> error;
  bool operator==(const Decoded&) const = default;
};

Decoded decode(std::string_view input, std::string_view seed, std::size_t out_bytes) {
  net::ChunkedDecoder decoder;
  decoder.limit(kMaxChunkedBody);
  std::vector<std::byte> out(out_bytes);
  Decoded all;
  in_pieces(input, seed, [&](std::string_view piece) {
    while (!piece.empty() && !decoder.complete() && !all.error) {
      const auto step =
          decoder.decode(std::as_bytes(std::span(piece.data(), piece.size())), std::span(out));
      if (!step) {
        all.error = step.error().code;
        return;
      }
      CHECK(step->used <= piece.size() && step->produced <= out.size());
      CHECK(step->used > 0);
      all.bytes.append(reinterpret_cast<const char*>(out.data()), step->produced);
      all.used += step->used;
      piece.remove_prefix(step->used);
    }
  });
  all.complete = decoder.complete();
  CHECK(all.bytes.size() <= static_cast<std::size_t>(kMaxChunkedBody));
  // Where an error shows depends on the pieces only in what was written out before it.
  if (all.error) all.bytes.clear(), all.used = 0;
  return all;
}

}  // namespace

// The first line says how the rest is cut up.
void run_http_request(std::string_view input) {
  const auto [seed, stream] = split_line(input);
  // Where the bytes end inside of a header, how much of it was looked at depends on the pieces; an
  // empty line brings both to a verdict.
  constexpr std::string_view kEnd = "\r\n\r\n";
  Listener whole(4096);
  whole.take(std::string(stream) + std::string(kEnd));
  Listener pieces(7);
  in_pieces(stream, seed, [&](std::string_view piece) { pieces.take(piece); });
  pieces.take(kEnd);
  if (!whole.heard().error && !pieces.heard().error) CHECK(whole.heard() == pieces.heard());
  CHECK(whole.heard().error.has_value() == pieces.heard().error.has_value());
  if (stream.size() + kEnd.size() < kMaxHeader) CHECK(whole.heard().error == pieces.heard().error);

  const Decoded at_once = decode(stream, "\x10", 4096);
  CHECK(decode(stream, seed, 3) == at_once);
}

}  // namespace loam::fuzz
