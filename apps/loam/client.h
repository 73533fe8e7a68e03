// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "loam/client_config.h"
#include "net/http_client.h"
#include "net/server_list.h"

namespace loam::cli {

// How often a call that may be repeated is tried, and how long between tries (doubling, with
// jitter).
struct RetryPolicy {
  int tries = 5;
  std::chrono::milliseconds first_delay{200};
};

// Whether a call may be sent again when its answer did not come.
enum class Repeat { kNever, kSafe };

struct CallOptions {
  Repeat repeat = Repeat::kNever;
  net::Headers headers;
  std::chrono::milliseconds deadline{60'000};
};

// Calls the server's HTTP API. Errors say what to do about them: a server that does not answer is
// kUnavailable, and names 'loam up'. An interrupt ends any call with kCanceled. Any thread.
class ApiClient {
 public:
  static Result<ApiClient> open(const ClientFlags& flags);
  ApiClient(ClientConfig config, std::unique_ptr<net::HttpClient> http, RetryPolicy retry = {});

  // `path` begins with "/v1/"; its segments and query are already percent-encoded.
  Result<Json> get(const std::string& path) const;
  Result<Json> call(const std::string& method, const std::string& path, const Json& body,
                    const CallOptions& options) const;

  // The lower half: `request.url` is a path. Anything but 2xx is an error.
  Result<net::HttpResponse> send(net::ClientRequest request) const;
  // Sends what `make` returns until it succeeds, fails for good, or the tries are used up.
  Result<net::HttpResponse> send_retrying(
      const std::function<Result<net::ClientRequest>()>& make) const;

  const std::string& server() const { return config_.server; }

 private:
  Error explained(Error error, bool from_server) const;

  ClientConfig config_;
  std::shared_ptr<net::ServerList> servers_;
  std::unique_ptr<net::HttpClient> http_;
  RetryPolicy retry_;
};

// "/v1/jobs/<id>" with what follows; an id from the command line is encoded as one segment.
std::string job_path(const std::string& job, std::string_view rest = "");

}  // namespace loam::cli
