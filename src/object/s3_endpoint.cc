// SPDX-License-Identifier: Apache-2.0
#include "object/s3_endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/iso_time.h"
#include "base/log.h"
#include "base/units.h"
#include "object/s3_xml.h"

namespace loam::object {

namespace {

// The slowest connection on which a request is still given the time that it needs.
constexpr std::int64_t kSlowestBytesPerSecond = 64 << 10;
// For answers that the server works on before it says anything.
constexpr std::chrono::milliseconds kLateStall{300'000};
// S3 refuses clocks that are 15 minutes off. An answer without a body that says so (HEAD) is taken
// for that from here on.
constexpr std::int64_t kSuspiciousSkewMs = 4 * 60 * 1000;
// A call gives up after this long, whatever its number of tries.
constexpr std::int64_t kGiveUpUs = 600LL * 1'000'000;
constexpr int kMaxReloads = 3;

std::string what_of(const S3Call& call, const S3Options& options) {
  return fmt::format("{} s3://{}/{}", call.method, options.bucket, printable(call.key));
}

bool is_success(int status) {
  return status >= 200 && status < 300;
}

}  // namespace

Error error_of_refusal(const S3Refusal& refusal, std::string_view what) {
  const std::string& code = refusal.body.code;
  const std::string text =
      fmt::format("{}: {} {}{}{}", what, refusal.status, printable(code),
                  refusal.body.message.empty() ? "" : ": ", printable(refusal.body.message));
  const auto error = [&](ErrorCode meaning, std::string_view hint = "") {
    return Error{meaning, hint.empty() ? text : fmt::format("{}; {}", text, hint)};
  };
  if (code == "NoSuchBucket") return error(ErrorCode::kInvalidArgument, "make the bucket first");
  if (code == "SignatureDoesNotMatch" || code == "InvalidAccessKeyId" || code == "ExpiredToken" ||
      code == "InvalidToken" || code == "RequestTimeTooSkewed") {
    return error(ErrorCode::kUnauthenticated, "check the S3 credentials and this machine's clock");
  }
  if (code == "EntityTooLarge") return error(ErrorCode::kTooLarge);
  if (code == "QuotaExceeded") return error(ErrorCode::kResourceExhausted);
  if (code == "NotImplemented") return error(ErrorCode::kUnimplemented);
  switch (refusal.status) {
    case 401:
    case 403:
      return error(ErrorCode::kPermissionDenied);
    case 404:
      return error(ErrorCode::kNotFound);
    case 409:
      return error(ErrorCode::kConflict);
    case 412:
    case 304:
      return error(ErrorCode::kPreconditionFailed);
    case 413:
      return error(ErrorCode::kTooLarge);
    case 301:
    case 307:
      return error(ErrorCode::kInvalidArgument, "give the bucket's own region and endpoint");
    case 501:
      return error(ErrorCode::kUnimplemented);
    default:
      return error(refusal.status >= 500 || refusal.status == 429 ? ErrorCode::kUnavailable
                                                                  : ErrorCode::kInvalidArgument);
  }
}

S3Endpoint::S3Endpoint(S3Options options, const Environment& environment, net::HttpClient& http,
                       const Clock& clock, Random& random)
    : options_(std::move(options)),
      http_(http),
      clock_(clock),
      random_(random),
      credentials_(credential_sources(options_, environment, http), clock),
      region_(options_.region) {}

std::string S3Endpoint::host() const {
  std::string host = options_.endpoint.substr(options_.endpoint.find("://") + 3);
  // HTTP clients leave the scheme's own port out of the Host header.
  const std::string_view usual = options_.endpoint.starts_with("https") ? ":443" : ":80";
  if (host.ends_with(usual)) host = host.substr(0, host.rfind(usual));
  return options_.path_style ? host : options_.bucket + "." + host;
}

std::string S3Endpoint::path_of(const std::string& key) const {
  return options_.path_style ? "/" + options_.bucket + "/" + key : "/" + key;
}

std::string S3Endpoint::region() const {
  const std::lock_guard lock(mutex_);
  return region_;
}

std::string S3Endpoint::payload_hash(const S3Call& call) const {
  const bool tls = options_.endpoint.starts_with("https");
  const bool skip = options_.payload_signing == PayloadSigning::kNever ||
                    (options_.payload_signing == PayloadSigning::kAuto && tls);
  if (skip && !call.body.empty()) return std::string(kUnsignedPayload);
  return sha256_hex(call.body);
}

Result<S3Endpoint::Try> S3Endpoint::send(const S3Call& call) {
  const LoadedKeys loaded = TRY(credentials_.get());
  const SigningRequest to_sign{call.method, host(),       path_of(call.key),
                               call.query,  call.headers, payload_hash(call)};
  net::ClientRequest request;
  request.method = call.method;
  const std::string scheme = options_.endpoint.substr(0, options_.endpoint.find("://"));
  request.url = fmt::format("{}://{}{}", scheme, to_sign.host, encode_path(to_sign.path));
  if (!call.query.empty()) request.url += "?" + encode_query(call.query);
  for (auto& [name, value] : sign(to_sign, {loaded.keys, region(), server_now_ms()}))
    request.headers.add(name, value);
  std::string_view rest = call.body;
  if (!call.body.empty()) {
    request.body_length = static_cast<std::int64_t>(call.body.size());
    request.body_source = [&rest](std::span<std::byte> out) -> Result<std::size_t> {
      const std::size_t n = std::min(out.size(), rest.size());
      std::memcpy(out.data(), rest.data(), n);
      rest.remove_prefix(n);
      return n;
    };
  }
  request.ca_file = options_.ca_file;
  request.connect_timeout = options_.connect_timeout;
  request.stall_timeout =
      call.may_fail_late ? std::max(kLateStall, options_.stall_timeout) : options_.stall_timeout;
  const std::int64_t bytes = static_cast<std::int64_t>(call.body.size()) + call.expected_bytes;
  request.deadline = options_.deadline +
                     (call.may_fail_late ? kLateStall : std::chrono::milliseconds(0)) +
                     std::chrono::milliseconds(bytes * 1000 / kSlowestBytesPerSecond);
  request.max_response_bytes = std::max<std::int64_t>(call.expected_bytes, 16 << 20);
  return Try{http_.send(request), loaded.keys};
}

bool S3Endpoint::learn_clock(const net::HttpResponse& response, bool certain) {
  const auto date = parse_http_date(response.headers.get("Date").value_or(""));
  if (!date) return false;
  const std::int64_t offset = *date - clock_.wall_ms();
  const std::int64_t change = std::abs(offset - clock_offset_ms_);
  if (!certain && change < kSuspiciousSkewMs) return false;
  clock_offset_ms_ = offset;
  const std::lock_guard lock(mutex_);
  if (!clock_logged_) {
    LOG_WARN(
        "this machine's clock is {} {} that of {}; requests are signed with the server's from now "
        "on, "
        "but set the clock",
        format_duration_us(std::abs(offset) * 1000), offset > 0 ? "behind" : "ahead of",
        options_.endpoint);
    clock_logged_ = true;
  }
  return true;
}

bool S3Endpoint::learn_region(const net::HttpResponse& response, const S3ErrorBody& error) {
  const std::string there = response.headers.get("x-amz-bucket-region").value_or(error.region);
  const std::lock_guard lock(mutex_);
  if (there.empty() || there == region_) return false;
  LOG_WARN("the bucket {} is in the region {}, not {}", options_.bucket, there, region_);
  region_ = there;
  return true;
}

Verdict S3Endpoint::judge(const Try& tried, const S3ErrorBody& error) {
  const net::HttpResponse& response = *tried.response;
  Verdict verdict = verdict_of(response.status, error.code);
  // An answer to HEAD has no body to say why.
  const bool mute = error.code.empty() && (response.status == 403 || response.status == 400);
  if (mute && learn_clock(response, false)) return Verdict::kClock;
  if (mute && learn_region(response, error)) return Verdict::kRegion;
  if (mute) verdict = Verdict::kCredentials;
  switch (verdict) {
    case Verdict::kClock:
      return learn_clock(response, true) ? Verdict::kClock : Verdict::kFinal;
    case Verdict::kRegion:
      return learn_region(response, error) ? Verdict::kRegion : Verdict::kFinal;
    case Verdict::kCredentials:
      return credentials_.refused(tried.keys) ? Verdict::kCredentials : Verdict::kFinal;
    default:
      return verdict;
  }
}

Result<S3Answer> S3Endpoint::call(const S3Call& call, S3Refusal* refusal) {
  const std::int64_t started_us = clock_.boot_us();
  Error last;
  bool repeated = false;
  int relearnt = 0;
  for (int number = 1;; ++number) {
    Try tried = TRY(send(call));
    bool slower = false;
    if (!tried.response) {
      last = tried.response.error();
      if (!is_retryable(last.code) && last.code != ErrorCode::kDeadlineExceeded) return fail(last);
      repeated = true;
    } else {
      net::HttpResponse& response = *tried.response;
      Status good;
      std::optional<S3ErrorBody> error;
      if (is_success(response.status)) {
        if (call.may_fail_late) error = parse_s3_error(response.body);
        if (!error) {
          if (call.check) good = call.check(response);
          if (good) return S3Answer{std::move(response), repeated};
          last = good.error();
          if (last.code != ErrorCode::kUnavailable) return fail(last);
          repeated = true;
        }
      } else {
        error = parse_s3_error(response.body).value_or(S3ErrorBody{});
      }
      if (error) {
        const S3Refusal refused{response.status, *error, repeated};
        last = error_of_refusal(refused, what_of(call, options_));
        const Verdict verdict = judge(tried, *error);
        const bool learnt = verdict == Verdict::kClock || verdict == Verdict::kRegion ||
                            verdict == Verdict::kCredentials;
        if (verdict == Verdict::kFinal || (learnt && ++relearnt > kMaxReloads)) {
          if (refusal != nullptr) *refusal = refused;
          return fail(last);
        }
        if (learnt) {
          ++retries_;
          continue;  // at once: the next try is a different one
        }
        slower = verdict == Verdict::kSlower;
        if (refusal != nullptr) *refusal = refused;
        // A server that failed half-way may have done it.
        repeated = repeated || !slower || is_success(response.status);
      }
    }
    if (number >= options_.tries || clock_.boot_us() - started_us > kGiveUpUs) {
      return fail(ErrorCode::kUnavailable,
                  fmt::format("{} (after {} tries)", last.message, number));
    }
    ++retries_;
    LOG_DEBUG("try {} of {}: {}", number, what_of(call, options_), last.message);
    std::this_thread::sleep_for(back_off(number, slower, random_));
  }
}

Result<S3Endpoint::Presigned> S3Endpoint::presigned(const S3Call& call,
                                                    std::chrono::seconds valid) {
  const LoadedKeys loaded = TRY(credentials_.get());
  std::int64_t ends_ms = clock_.wall_ms() + valid.count() * 1000;
  // A URL dies with the keys that signed it.
  if (loaded.expires_ms) ends_ms = std::min(ends_ms, *loaded.expires_ms);
  const SigningRequest to_sign{call.method, host(),       path_of(call.key),
                               call.query,  call.headers, ""};
  const std::string scheme = options_.endpoint.substr(0, options_.endpoint.find("://"));
  return Presigned{fmt::format("{}://{}{}?{}", scheme, to_sign.host, encode_path(to_sign.path),
                               presign(to_sign, {loaded.keys, region(), server_now_ms()}, valid)),
                   ends_ms};
}

}  // namespace loam::object
