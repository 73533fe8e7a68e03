// SPDX-License-Identifier: Apache-2.0
#include "loam/client.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/random.h"
#include "loam/interrupt.h"
#include "net/status.h"

namespace loam::cli {

Result<ApiClient> ApiClient::open(const ClientFlags& flags) {
  ClientConfig config = TRY(resolve_client_config(flags, process_environment()));
  catch_interrupts();
  auto http = net::make_curl_client(config.ca_file);
  return ApiClient(std::move(config), std::move(http));
}

ApiClient::ApiClient(ClientConfig config, std::unique_ptr<net::HttpClient> http, RetryPolicy retry)
    : config_(std::move(config)),
      servers_(std::make_shared<net::ServerList>(config_.server)),
      http_(std::move(http)),
      retry_(retry) {}

Error ApiClient::explained(Error error, bool from_server) const {
  const bool silent =
      error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kDeadlineExceeded;
  if (!from_server && silent) {
    error.message = fmt::format(
        "the server at {} does not answer ({}); start one with 'loam up', or name the right one "
        "with --server or LOAM_SERVER",
        config_.server, error.message);
  } else if (!from_server && error.code == ErrorCode::kInvalidArgument &&
             config_.server.starts_with("https://")) {
    error.message += "; name the authority of its certificate with --ca-file or LOAM_CA_FILE";
  } else if (error.code == ErrorCode::kUnauthenticated && config_.token.empty()) {
    error.message += "; there is no token for this server: set LOAM_TOKEN or pass --token-file";
  } else if (error.code == ErrorCode::kUnauthenticated) {
    error.message += fmt::format("; the token came from {}: set LOAM_TOKEN or pass --token-file",
                                 config_.token_source);
  }
  return error;
}

Result<net::HttpResponse> ApiClient::send(net::ClientRequest request) const {
  const std::string server = servers_->current();
  request.url = net::join_url(server, request.url);
  if (!config_.token.empty()) request.headers.set("Authorization", "Bearer " + config_.token);
  request.headers.set("User-Agent", "loam");
  if (!request.canceled) request.canceled = interrupted;
  auto response = http_->send(request);
  if (response && response->status >= 200 && response->status < 300) return response;
  const bool answered = response.has_value();
  Error error = answered ? net::error_from_response(response->status, response->body)
                         : std::move(response.error());
  if (net::ServerList::worth_moving(error)) servers_->failed(server);
  return fail(explained(std::move(error), answered));
}

Result<net::HttpResponse> ApiClient::send_retrying(
    const std::function<Result<net::ClientRequest>()>& make) const {
  constexpr std::chrono::milliseconds kMostDelay{5'000};
  SystemRandom random;
  auto delay = retry_.first_delay;
  for (int tried = 1;; ++tried) {
    auto response = send(TRY(make()));
    if (response || !is_retryable(response.error().code) || tried >= retry_.tries) return response;
    const auto jittered =
        static_cast<std::int64_t>(static_cast<double>(delay.count()) * (0.5 + random.unit() / 2));
    TRY_VOID(pause_for(std::chrono::milliseconds(jittered)));
    delay = std::min(delay * 2, kMostDelay);
  }
}

Result<Json> ApiClient::call(const std::string& method, const std::string& path, const Json& body,
                             const CallOptions& options) const {
  net::ClientRequest request;
  request.method = method;
  request.url = path;
  request.headers = options.headers;
  request.deadline = options.deadline;
  request.stall_timeout = options.deadline;
  if (!body.is_null()) {
    request.body = dump_json(body);
    request.headers.set("Content-Type", "application/json");
  }
  if (options.repeat == Repeat::kNever && servers_->size() > 1) {
    // What must not be sent twice goes to a server that has just answered.
    net::ClientRequest probe;
    probe.url = "/healthz";
    TRY(send_retrying([&]() -> Result<net::ClientRequest> { return probe; }));
  }
  const auto response =
      options.repeat == Repeat::kSafe
          ? TRY(send_retrying([&]() -> Result<net::ClientRequest> { return request; }))
          : TRY(send(request));
  auto json = parse_json(response.body);
  if (!json) {
    return fail(ErrorCode::kInternal,
                fmt::format("{} {} was answered with something else than JSON; is {} a loam "
                            "server?",
                            method, path, config_.server));
  }
  return json;
}

Result<Json> ApiClient::get(const std::string& path) const {
  return call("GET", path, Json(), {.repeat = Repeat::kSafe});
}

std::string job_path(const std::string& job, std::string_view rest) {
  return fmt::format("/v1/jobs/{}{}", percent_encode(job, false), rest);
}

}  // namespace loam::cli
