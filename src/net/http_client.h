// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "net/http_message.h"

namespace loam::net {

struct ClientRequest {
  std::string method = "GET";
  std::string url;  // absolute; path and query already percent-encoded
  Headers headers;
  std::string body;
  // If set, the body comes from here instead: fills `out`, returns 0 at the end. `body_length` must
  // say how long it will be. A failing source aborts the request with its error.
  std::function<Result<std::size_t>(std::span<std::byte> out)> body_source;
  std::int64_t body_length = -1;
  // If set, a 2xx body goes here as it arrives instead of into HttpResponse::body. Returning an
  // error aborts the request with it.
  std::function<Status(std::span<const std::byte>)> sink;
  // If set, shown status and headers before the first byte goes to the sink; may abort as that.
  std::function<Status(const HttpResponse& head)> before_sink;
  // For streams without end (SSE): asked about ten times a second; true aborts with kCanceled.
  std::function<bool()> canceled;
  std::chrono::milliseconds connect_timeout{5'000};
  // No byte moved for this long, in either direction: kDeadlineExceeded. 0 turns it off.
  std::chrono::milliseconds stall_timeout{30'000};
  // The whole request. 0 turns it off.
  std::chrono::milliseconds deadline{60'000};
  std::int64_t max_response_bytes = 64 << 20;  // of a body that has no sink
  std::string ca_file;  // PEM of the authorities to trust in https, instead of the system's
};

// The seam to HTTP servers. send() blocks; any number of threads may call it, connections are kept
// and reused. A response of any status is a response; an Error means that none came (kUnavailable:
// no connection, reset, body shorter than promised; kDeadlineExceeded; kCanceled). No redirects are
// followed. It never retries: callers know what is idempotent.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  virtual Result<HttpResponse> send(const ClientRequest& request) = 0;
};

// Servers with https must show a certificate for the host in the URL from an authority in
// `ca_file`, which goes for requests that name none of their own, else from one that the system
// trusts; if not, the answer is kInvalidArgument.
std::unique_ptr<HttpClient> make_curl_client(std::string ca_file = {});

// Joins a base URL and an already encoded path.
std::string join_url(std::string_view base, std::string_view path);

}  // namespace loam::net
