// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "net/http_client.h"
#include "object/s3_credentials.h"
#include "object/s3_options.h"
#include "object/s3_retry.h"
#include "object/sigv4.h"

namespace loam::object {

// One request to a bucket, in plain bytes.
struct S3Call {
  std::string method = "GET";
  std::string key;  // whole; empty for the bucket itself
  NameValues query;
  NameValues headers;     // signed with the rest
  std::string_view body;  // must outlive the call; may be sent many times
  // Looks at a 2xx answer. kUnavailable: it is broken and the request is tried again. Other errors
  // are returned as they are.
  std::function<Status(const net::HttpResponse&)> check;
  // A 200 of CompleteMultipartUpload or CopyObject begins before the outcome is known, and may then
  // say that it failed.
  bool may_fail_late = false;
  std::int64_t expected_bytes = 0;  // of the answer's body, for the deadline
};

struct S3Answer {
  net::HttpResponse http;
  // An earlier try may have been carried out, although it looked broken from here. What such a
  // repetition finds (412, 404) can be its own doing.
  bool repeated = false;
};

// A refusal that no repetition changes.
struct S3Refusal {
  int status = 0;
  S3ErrorBody body;
  bool repeated = false;
};
// The one mapping from what S3 says to meaning.
Error error_of_refusal(const S3Refusal& refusal, std::string_view what);

// One bucket of one S3 service, as a place to send requests to: signs every try afresh, by the
// server's clock; repeats what may be repeated, with back-off and jitter; renews credentials. Any
// thread.
class S3Endpoint {
 public:
  // `http`, `clock` and `random` must outlive this.
  S3Endpoint(S3Options options, const Environment& environment, net::HttpClient& http,
             const Clock& clock, Random& random);

  // The answer if it is 2xx; else an Error, and what it was in `refusal`, if that is given.
  Result<S3Answer> call(const S3Call& call, S3Refusal* refusal = nullptr);

  struct Presigned {
    std::string url;
    std::int64_t expires_ms;
  };
  Result<Presigned> presigned(const S3Call& call, std::chrono::seconds valid);

  const S3Options& options() const { return options_; }
  // Added to this machine's clock, it is the server's; 0 until a request was refused for it.
  std::int64_t clock_offset_ms() const { return clock_offset_ms_; }
  std::string credentials_name() const { return credentials_.source_name(); }
  std::int64_t server_now_ms() const { return clock_.wall_ms() + clock_offset_ms_; }
  // Tries that were not the first of their call, since the start.
  std::uint64_t retries() const { return retries_; }

 private:
  struct Try {
    Result<net::HttpResponse> response;
    AccessKeys keys;
  };

  std::string host() const;
  std::string path_of(const std::string& key) const;
  std::string region() const;
  std::string payload_hash(const S3Call& call) const;
  Result<Try> send(const S3Call& call);
  // What to do about an answer that is not a success.
  Verdict judge(const Try& tried, const S3ErrorBody& error);
  bool learn_clock(const net::HttpResponse& response, bool certain);
  bool learn_region(const net::HttpResponse& response, const S3ErrorBody& error);

  const S3Options options_;
  net::HttpClient& http_;
  const Clock& clock_;
  Random& random_;
  Credentials credentials_;
  std::atomic<std::int64_t> clock_offset_ms_{0};
  std::atomic<std::uint64_t> retries_{0};
  mutable std::mutex mutex_;
  std::string region_;  // learnt, where the bucket turned out to be elsewhere
  bool clock_logged_ = false;
};

}  // namespace loam::object
