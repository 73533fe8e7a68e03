// SPDX-License-Identifier: Apache-2.0
#include "object/s3_put.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/encoding.h"
#include "base/fail_point.h"
#include "base/iso_time.h"
#include "base/log.h"
#include "base/units.h"
#include "object/multipart.h"
#include "object/part_source.h"
#include "object/s3_multipart.h"
#include "object/s3_read.h"
#include "object/s3_xml.h"

namespace loam::object {

namespace {

constexpr std::int64_t kMaxObjectBytes = 5LL << 40;  // as S3
constexpr std::int64_t kCopyWhole = kGiB;
constexpr std::int64_t kCopyPart = 256 * kMiB;
// A source that is replaced over and over is not chased for ever.
constexpr int kCopyTries = 3;

// A multipart upload in progress: what its parts, which go up on the pool's threads, tell the
// thread that reads the source.
class ParallelParts {
 public:
  ParallelParts(const S3Writer& writer, std::size_t most) : writer_(writer), most_(most) {}
  ~ParallelParts() { wait_for(0); }
  ParallelParts(const ParallelParts&) = delete;
  ParallelParts& operator=(const ParallelParts&) = delete;

  // Waits until fewer than `most` are on their way, then sends another. False once any has failed.
  bool start(std::function<Result<UploadedPart>()> send) {
    if (!wait_for(most_ - 1)) return false;
    {
      const std::lock_guard lock(mutex_);
      ++in_flight_;
    }
    writer_.pool.submit([this, send = std::move(send)]() mutable {
      Result<UploadedPart> part = send();
      send = nullptr;
      const std::lock_guard lock(mutex_);
      if (part) {
        parts_.push_back(*std::move(part));
      } else if (!error_) {
        error_ = part.error();
      }
      --in_flight_;
      changed_.notify_all();  // under the lock: this object may end right after
    });
    return true;
  }

  Result<std::vector<UploadedPart>> finish() {
    if (!wait_for(0)) return fail(*error_);
    std::sort(parts_.begin(), parts_.end(),
              [](const UploadedPart& a, const UploadedPart& b) { return a.number < b.number; });
    return std::move(parts_);
  }

 private:
  bool wait_for(std::size_t at_most) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return in_flight_ <= at_most; });
    return !error_;
  }

  const S3Writer& writer_;
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t in_flight_ = 0;
  std::vector<UploadedPart> parts_;
  std::optional<Error> error_;
};

void abort_quietly(S3Endpoint& endpoint, const std::string& key, const std::string& upload_id) {
  const Status aborted = s3_abort_upload(endpoint, key, upload_id);
  if (!aborted) {
    LOG_WARN("a broken upload of '{}' was left behind: {}", printable(key),
             aborted.error().message);
  }
}

// What is not completed leaves nothing behind.
Result<ObjectInfo> complete_or_abort(const S3Writer& writer, Result<std::vector<UploadedPart>> sent,
                                     CompleteRequest request) {
  const auto complete = [&]() -> Result<ObjectInfo> {
    request.parts = TRY(std::move(sent));
    return s3_complete_upload(writer.endpoint, writer.conditions, request);
  };
  auto info = complete();
  if (!info) abort_quietly(writer.endpoint, request.whole_key, request.upload_id);
  return info;
}

Result<std::vector<UploadedPart>> send_parts(const S3Writer& writer, const std::string& whole_key,
                                             const std::string& upload_id, PartSource& parts,
                                             std::string first, std::int64_t length) {
  const S3Options& options = writer.endpoint.options();
  ParallelParts sending(writer, std::max<std::size_t>(1, options.parallel_parts));
  std::string bytes = std::move(first);
  for (int number = 1;; ++number) {
    if (number > kMaxParts) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format("'{}' is over what S3 holds in one object", printable(whole_key)));
    }
    const auto size = static_cast<std::int64_t>(bytes.size());
    writer.pool.reserve(size);
    const auto part = std::make_shared<std::string>(std::move(bytes));
    const bool going = sending.start([&writer, &whole_key, &upload_id, number, size, part] {
      auto sent = s3_put_part(writer.endpoint, whole_key, upload_id, number, *part);
      writer.pool.release(size);
      crash_point_bytes(size);
      return sent;
    });
    if (!going) {
      writer.pool.release(size);
      break;
    }
    if (parts.ended()) break;
    bytes = std::string();
    TRY_VOID(parts.fill(bytes, part_size(options.part_bytes, length, number + 1)));
  }
  return sending.finish();
}

Result<ObjectInfo> put_in_parts(const S3Writer& writer, const std::string& key, PartSource& parts,
                                std::string first, const PutOptions& options) {
  const std::string whole_key = writer.endpoint.options().prefix + key;
  const std::string put_id = writer.conditions.new_put_id();
  const std::string upload_id = TRY(s3_begin_upload(writer.endpoint, whole_key, put_id));
  return complete_or_abort(
      writer, send_parts(writer, whole_key, upload_id, parts, std::move(first), options.length),
      {whole_key, key, upload_id, put_id, {}, options});
}

Result<ObjectInfo> put_whole(const S3Writer& writer, const std::string& key,
                             const std::string& bytes, const PutOptions& options) {
  S3Call call;
  call.method = "PUT";
  call.key = writer.endpoint.options().prefix + key;
  call.body = bytes;
  call.headers = TRY(writer.conditions.headers_for(call.key, options, false));
  const bool conditional = !call.headers.empty();
  const std::string put_id = writer.conditions.new_put_id();
  if (conditional) call.headers.emplace_back(S3Conditions::kPutIdHeader, put_id);
  S3Refusal refusal;
  const auto answer = writer.endpoint.call(call, &refusal);
  if (answer) {
    const net::Headers& headers = answer->http.headers;
    return ObjectInfo{key, static_cast<std::int64_t>(bytes.size()),
                      bare_etag(headers.get("ETag").value_or("")),
                      parse_http_date(headers.get("Date").value_or(""))
                          .value_or(writer.endpoint.server_now_ms())};
  }
  if (conditional && refusal.status == 412 && refusal.repeated) {
    if (auto ours = TRY(writer.conditions.was_ours(call.key, key, put_id))) return *std::move(ours);
  }
  // AWS says so where the object to match is missing.
  if (!options.if_match.empty() && answer.error().code == ErrorCode::kNotFound) {
    return fail(ErrorCode::kPreconditionFailed, answer.error().message);
  }
  return fail(answer.error());
}

Result<ObjectInfo> copy_whole(const S3Writer& writer, const std::string& from,
                              const std::string& to, const ObjectInfo& source) {
  const std::string& prefix = writer.endpoint.options().prefix;
  S3Call call;
  call.method = "PUT";
  call.key = prefix + to;
  call.headers = {{"x-amz-copy-source", copy_source(writer.endpoint, prefix + from)},
                  {"x-amz-copy-source-if-match", quoted_etag(source.etag)}};
  call.may_fail_late = true;
  call.check = [](const net::HttpResponse& response) -> Status {
    TRY(parse_s3_etag(response.body));
    return {};
  };
  const S3Answer answer = TRY(writer.endpoint.call(call));
  return ObjectInfo{to, source.size, TRY(parse_s3_etag(answer.http.body)),
                    writer.endpoint.server_now_ms()};
}

Result<ObjectInfo> copy_in_parts(const S3Writer& writer, const std::string& from,
                                 const std::string& to, const ObjectInfo& source) {
  const std::string& prefix = writer.endpoint.options().prefix;
  const std::string put_id = writer.conditions.new_put_id();
  const std::string upload_id = TRY(s3_begin_upload(writer.endpoint, prefix + to, put_id));
  const auto send_all = [&]() -> Result<std::vector<UploadedPart>> {
    ParallelParts sending(writer, writer.endpoint.options().parallel_parts);
    const std::int64_t step = part_size(kCopyPart, source.size, 1);
    int number = 0;
    for (std::int64_t offset = 0; offset < source.size; offset += step) {
      const ByteRange range{offset, std::min(step, source.size - offset)};
      ++number;
      const bool going = sending.start([&, number, range] {
        return s3_copy_part(writer.endpoint, prefix + to, upload_id, number, prefix + from,
                            source.etag, range);
      });
      if (!going) break;
    }
    return sending.finish();
  };
  return complete_or_abort(writer, send_all(), {prefix + to, to, upload_id, put_id, {}, {}});
}

}  // namespace

Result<ObjectInfo> s3_put(const S3Writer& writer, const std::string& key, const Source& source,
                          const PutOptions& options) {
  if (options.length > kMaxObjectBytes) {
    return fail(ErrorCode::kTooLarge, fmt::format("'{}' has {} bytes; S3 holds at most {}",
                                                  printable(key), options.length, kMaxObjectBytes));
  }
  PartSource parts(source, options.length, key);
  std::string first;
  TRY_VOID(parts.fill(first, part_size(writer.endpoint.options().part_bytes, options.length, 1)));
  if (parts.ended()) return put_whole(writer, key, first, options);
  return put_in_parts(writer, key, parts, std::move(first), options);
}

Result<ObjectInfo> s3_copy(const S3Writer& writer, const std::string& from, const std::string& to) {
  for (int number = 1;; ++number) {
    const ObjectInfo source =
        TRY(s3_head(writer.endpoint, writer.endpoint.options().prefix + from, from));
    if (from == to) return source;  // S3 refuses a copy that changes nothing
    auto copied = source.size <= kCopyWhole ? copy_whole(writer, from, to, source)
                                            : copy_in_parts(writer, from, to, source);
    const bool replaced =
        !copied && copied.error().code == ErrorCode::kPreconditionFailed && number < kCopyTries;
    if (!replaced) return copied;
  }
}

}  // namespace loam::object
