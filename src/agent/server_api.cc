// SPDX-License-Identifier: Apache-2.0
#include "agent/server_api.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoding.h"
#include "net/status.h"
#include "object/s3_xml.h"

namespace loam::agent {

namespace {

// A store refuses what the server granted when the grant has run out, when it is busy, or when its
// clock is another: a fresh grant may help. Only what is not there, or shorter, stays so. Of the
// answer only what is meant for people is repeated: stores quote session tokens, and proxies the
// signed URL.
Error refused_by_store(const net::HttpResponse& response) {
  ErrorCode code = ErrorCode::kUnavailable;
  if (response.status == 404) code = ErrorCode::kNotFound;
  if (response.status == 416) code = ErrorCode::kInvalidArgument;
  const auto said = object::parse_s3_error(response.body);
  return {code,
          fmt::format("the store refused a request that the server had granted: HTTP status {}{}",
                      response.status,
                      said ? printable(fmt::format(": {} {}", said->code, said->message)) : "")};
}

}  // namespace

ServerApi::ServerApi(net::HttpClient& http, const std::string& servers, std::string ca_file)
    : http_(http), servers_(servers), ca_file_(std::move(ca_file)) {}

Result<net::HttpResponse> ServerApi::send(net::ClientRequest request,
                                          const CallOptions& options) const {
  const bool ours = request.url.starts_with('/');
  const std::string server = servers_.current();
  // Another host gets neither our token nor the lease: its URL carries what it needs.
  if (ours) {
    request.url = net::join_url(server, request.url);
    request.ca_file = ca_file_;
    if (!token_.empty()) request.headers.set("Authorization", "Bearer " + token_);
    if (!options.lease.empty()) request.headers.set("Loam-Lease", options.lease);
  }
  request.canceled = options.canceled;
  request.deadline = options.deadline;
  auto response = http_.send(request);
  // A node gives up on a certificate when it enrols. Later it has seen a good one, so that one
  // which has just run out is a passing fault of the server, for which no job is to end.
  const bool enrolling = request.url.ends_with("/v1/nodes");
  if (!response && response.error().code == ErrorCode::kInvalidArgument && ours && !enrolling) {
    response = fail(ErrorCode::kUnavailable, std::move(response.error().message));
  }
  if (response && (response->status < 200 || response->status > 299)) {
    response = fail(ours ? net::error_from_response(response->status, response->body)
                         : refused_by_store(*response));
  }
  if (!response && ours && net::ServerList::worth_moving(response.error())) {
    servers_.failed(server);
  }
  return response;
}

Result<Json> ServerApi::post(const std::string& path, const Json& body,
                             const CallOptions& options) const {
  net::ClientRequest request;
  request.method = "POST";
  request.url = path;
  request.headers.set("Content-Type", "application/json");
  request.body = dump_json(body);
  const net::HttpResponse response = TRY(send(std::move(request), options));
  return response.body.empty() ? Result<Json>(Json()) : parse_json(response.body);
}

Result<Json> ServerApi::get(const std::string& path, const CallOptions& options) const {
  net::ClientRequest request;
  request.url = path;
  const net::HttpResponse response = TRY(send(std::move(request), options));
  return response.body.empty() ? Result<Json>(Json()) : parse_json(response.body);
}

Result<std::string> ServerApi::put(Upload upload, const CallOptions& options) const {
  net::ClientRequest request;
  request.method = "PUT";
  request.url = upload.url;
  request.headers = std::move(upload.headers);
  request.body_source = std::move(upload.source);
  request.body_length = upload.length;
  const net::HttpResponse response = TRY(send(std::move(request), options));
  std::string etag = response.headers.get("ETag").value_or("");
  // The quotation marks are the header's, not the tag's (RFC 9110, section 8.8.3).
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  return etag;
}

Status ServerApi::download(Download download, const CallOptions& options) const {
  net::ClientRequest request;
  request.url = download.url;
  request.headers = download.headers;
  // Not among the headers that a store's grant is signed with, so that it may be added to them.
  if (download.from > 0) request.headers.set("Range", fmt::format("bytes={}-", download.from));
  std::int64_t surplus = 0;  // bytes before `from` that come all the same
  request.before_sink = [&](const net::HttpResponse& head) -> Status {
    if (download.begins) download.begins();
    if (head.status != 206) {
      surplus = download.from;
      return {};
    }
    const std::string range = head.headers.get("Content-Range").value_or("");
    if (range.starts_with(fmt::format("bytes {}-", download.from))) return {};
    return fail(ErrorCode::kUnavailable,
                fmt::format("'{}' came where bytes from {} on were asked for", printable(range),
                            download.from));
  };
  request.sink = [&](std::span<const std::byte> bytes) -> Status {
    const std::int64_t cut = std::min<std::int64_t>(surplus, std::ssize(bytes));
    surplus -= cut;
    bytes = bytes.subspan(static_cast<std::size_t>(cut));
    return bytes.empty() ? Status() : download.sink(bytes);
  };
  TRY(send(std::move(request), options));
  return {};
}

}  // namespace loam::agent
