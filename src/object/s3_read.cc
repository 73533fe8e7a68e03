// SPDX-License-Identifier: Apache-2.0
#include "object/s3_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

#include "base/encoding.h"
#include "base/iso_time.h"
#include "object/s3_xml.h"

namespace loam::object {

namespace {

std::int64_t number_of(std::string_view text) {
  std::int64_t out = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? out : -1;
}

struct ContentRange {
  std::int64_t first = -1;
  std::int64_t last = -1;
  std::int64_t total = -1;
};

// "bytes 0-99/1234".
ContentRange content_range_of(std::string_view text) {
  if (!text.starts_with("bytes ")) return {};
  text.remove_prefix(6);
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) return {};
  return {number_of(text.substr(0, dash)), number_of(text.substr(dash + 1, slash - dash - 1)),
          number_of(text.substr(slash + 1))};
}

std::int64_t modified_of(const net::Headers& headers) {
  return parse_http_date(headers.get("Last-Modified").value_or("")).value_or(0);
}

struct Piece {
  std::string bytes;
  std::int64_t offset = 0;  // of the first byte in the object
  ObjectInfo info;          // of the whole object
};

// A whole, right answer to a ranged GET, or kUnavailable. A server that ignores the range sends the
// whole object.
Result<Piece> piece_of(const net::HttpResponse& response, ByteRange asked) {
  Piece piece;
  piece.info.etag = bare_etag(response.headers.get("ETag").value_or(""));
  piece.info.modified_ms = modified_of(response.headers);
  const auto size = static_cast<std::int64_t>(response.body.size());
  if (response.status == 200) {
    piece.info.size = size;
    return piece;
  }
  const ContentRange range = content_range_of(response.headers.get("Content-Range").value_or(""));
  piece.offset = range.first;
  piece.info.size = range.total;
  const std::int64_t want = std::min(asked.length, range.total - asked.offset);
  if (response.status != 206 || range.first != asked.offset || size != want ||
      range.last - range.first + 1 != want) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("{} bytes came where {} from {} on were asked for", size, asked.length,
                            asked.offset));
  }
  return piece;
}

S3Call get_call(const std::string& whole_key, ByteRange range, const std::string& if_match) {
  S3Call call;
  call.key = whole_key;
  call.headers.emplace_back("Range", range_header(range));
  if (!if_match.empty()) call.headers.emplace_back("If-Match", quoted_etag(if_match));
  call.expected_bytes = range.length;
  call.check = [range](const net::HttpResponse& response) -> Status {
    TRY(piece_of(response, range));
    return {};
  };
  return call;
}

// `asked` has a length.
Result<Piece> fetch(S3Endpoint& endpoint, const std::string& whole_key, ByteRange asked,
                    const std::string& if_match, S3Refusal* refusal = nullptr) {
  S3Answer answer = TRY(endpoint.call(get_call(whole_key, asked, if_match), refusal));
  Piece piece = TRY(piece_of(answer.http, asked));
  if (answer.http.status == 200) {  // cut out what was asked for
    const std::int64_t begin = std::min(asked.offset, piece.info.size);
    const std::int64_t end = std::min(asked.offset + asked.length, piece.info.size);
    piece.bytes = answer.http.body.substr(static_cast<std::size_t>(begin),
                                          static_cast<std::size_t>(end - begin));
    return piece;
  }
  piece.bytes = std::move(answer.http.body);
  return piece;
}

// What the reader and the tasks that fetch ahead share; the tasks may outlive the reader. Its
// memory is the pool's until both have let go: a reader that is slow must not be forgotten with
// what it has.
struct Slot {
  Slot(TransferPool& of, std::int64_t length) : pool(of), bytes(length) {}
  ~Slot() { pool.release_ahead(bytes); }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  TransferPool& pool;
  const std::int64_t bytes;
  std::mutex mutex;
  std::condition_variable done_changed;
  bool done = false;
  bool abandoned = false;
  Result<Piece> piece;
};

class S3Reader final : public ObjectReader {
 public:
  S3Reader(S3Endpoint& endpoint, TransferPool& pool, std::string whole_key, ObjectInfo info,
           ByteRange range, std::string first)
      : endpoint_(endpoint),
        pool_(pool),
        whole_key_(std::move(whole_key)),
        info_(std::move(info)),
        range_(range),
        current_(std::move(first)),
        next_(range.offset + static_cast<std::int64_t>(current_.size())) {}

  ~S3Reader() override {
    for (const auto& slot : ahead_) {
      const std::lock_guard lock(slot->mutex);
      slot->abandoned = true;
    }
  }

  Result<std::size_t> read(std::span<std::byte> out) override {
    if (out.empty()) return std::size_t{0};
    if (used_ == current_.size()) {
      if (taken_ == range_.length) return std::size_t{0};
      TRY_VOID(advance());
    }
    fetch_ahead();
    const std::size_t n = std::min(out.size(), current_.size() - used_);
    std::memcpy(out.data(), current_.data() + used_, n);
    used_ += n;
    taken_ += static_cast<std::int64_t>(n);
    return n;
  }
  const ObjectInfo& info() const override { return info_; }
  std::int64_t length() const override { return range_.length; }

 private:
  ByteRange next_range() const {
    const std::int64_t end = range_.offset + range_.length;
    return {next_, std::min(endpoint_.options().part_bytes, end - next_)};
  }

  // Only whoever reads on gets more: the window grows with each piece that was used up.
  void fetch_ahead() {
    while (ahead_.size() < window_) {
      const ByteRange range = next_range();
      if (range.length <= 0 || !pool_.try_reserve_ahead(range.length)) return;
      auto slot = std::make_shared<Slot>(pool_, range.length);
      ahead_.push_back(slot);
      next_ += range.length;
      pool_.submit([&endpoint = endpoint_, key = whole_key_, etag = info_.etag, range, slot] {
        bool wanted = true;
        {
          const std::lock_guard lock(slot->mutex);
          wanted = !slot->abandoned;
        }
        if (wanted) {
          Result<Piece> piece = fetch(endpoint, key, range, etag);
          const std::lock_guard lock(slot->mutex);
          slot->piece = std::move(piece);
          slot->done = true;
        }
        slot->done_changed.notify_all();
      });
    }
  }

  Status advance() {
    current_.clear();
    used_ = 0;
    Result<Piece> piece;
    if (ahead_.empty()) {
      const ByteRange range = next_range();
      next_ += range.length;
      piece = fetch(endpoint_, whole_key_, range, info_.etag);
    } else {
      const std::shared_ptr<Slot> slot = std::move(ahead_.front());
      ahead_.pop_front();
      std::unique_lock lock(slot->mutex);
      slot->done_changed.wait(lock, [&] { return slot->done; });
      piece = std::move(slot->piece);
    }
    if (!piece) return fail(piece.error());
    if (piece->info.etag != info_.etag || piece->info.size != info_.size || piece->bytes.empty()) {
      return fail(ErrorCode::kPreconditionFailed,
                  fmt::format("'{}' was replaced while it was read", printable(info_.key)));
    }
    current_ = std::move(piece->bytes);
    window_ = std::min(window_ * 2, endpoint_.options().parallel_parts);
    return {};
  }

  S3Endpoint& endpoint_;
  TransferPool& pool_;
  const std::string whole_key_;
  const ObjectInfo info_;
  const ByteRange range_;
  std::string current_;
  std::size_t used_ = 0;    // of current_
  std::int64_t taken_ = 0;  // by the caller
  std::int64_t next_;       // offset of the first byte that nobody fetches yet
  std::size_t window_ = 2;
  std::deque<std::shared_ptr<Slot>> ahead_;
};

}  // namespace

std::string quoted_etag(std::string_view etag) {
  return fmt::format("\"{}\"", etag);
}

std::string range_header(ByteRange range) {
  if (range.length < 0) return fmt::format("bytes={}-", range.offset);
  return fmt::format("bytes={}-{}", range.offset, range.offset + range.length - 1);
}

Result<ObjectInfo> s3_head(S3Endpoint& endpoint, const std::string& whole_key,
                           const std::string& key) {
  S3Call call;
  call.method = "HEAD";
  call.key = whole_key;
  const S3Answer answer = TRY(endpoint.call(call));
  const net::Headers& headers = answer.http.headers;
  const std::int64_t size = number_of(headers.get("Content-Length").value_or("0"));
  return ObjectInfo{key, size, bare_etag(headers.get("ETag").value_or("")), modified_of(headers)};
}

Result<std::unique_ptr<ObjectReader>> open_s3_reader(S3Endpoint& endpoint, TransferPool& pool,
                                                     const std::string& whole_key,
                                                     const std::string& key, ByteRange range,
                                                     const std::string& if_match) {
  TRY(resolve_range(range, INT64_MAX));
  const std::int64_t part = endpoint.options().part_bytes;
  const ByteRange first{range.offset, range.length < 0 ? part : std::min(range.length, part)};
  S3Refusal refusal;
  Result<Piece> piece;
  if (first.length > 0) {
    piece = fetch(endpoint, whole_key, first, if_match, &refusal);
    if (!piece && refusal.status != 416) return fail(piece.error());
  }
  // No HTTP range says "no bytes", and one that begins at the end is refused; size and ETag then
  // come from HEAD.
  ObjectInfo info;
  if (piece && first.length > 0) {
    info = piece->info;
    info.key = key;
  } else {
    info = TRY(s3_head(endpoint, whole_key, key));
    if (!if_match.empty() && info.etag != if_match) {
      return fail(ErrorCode::kPreconditionFailed,
                  fmt::format("'{}' has another ETag", printable(key)));
    }
  }
  const ByteRange resolved = TRY(resolve_range(range, info.size));
  std::string bytes = piece && first.length > 0 ? std::move(piece->bytes) : std::string();
  return std::unique_ptr<ObjectReader>(std::make_unique<S3Reader>(
      endpoint, pool, whole_key, std::move(info), resolved, std::move(bytes)));
}

}  // namespace loam::object
