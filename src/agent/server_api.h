// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "net/http_client.h"
#include "net/server_list.h"

namespace loam::agent {

// A node's side of docs/formats/node-protocol.md: one method per call, no state but the token, no
// retries. Any thread. Errors carry the server's code; no answer at all is kUnavailable.
class ServerApi {
 public:
  // `servers` is one URL or several, comma-separated; a call that gets no answer moves the next one
  // to another server.
  // For https they need a certificate from `ca_file`, or from an authority of the system without
  // it; granted URLs of a store always from the latter.
  ServerApi(net::HttpClient& http, const std::string& servers, std::string ca_file);

  // A bearer token for what follows; set once, before threads.
  void set_token(std::string token) { token_ = std::move(token); }

  // POST with a JSON body and a JSON answer; null for 204. `lease` is empty or "<epoch>.<token>".
  struct CallOptions {
    std::string lease;
    std::chrono::milliseconds deadline{30'000};
    std::function<bool()> canceled;
  };
  Result<Json> post(const std::string& path, const Json& body, const CallOptions& options) const;
  Result<Json> get(const std::string& path, const CallOptions& options) const;

  // PUT of `length` bytes from `source` to a granted URL; the stored object's ETag.
  struct Upload {
    std::string url;  // absolute, or below the server
    net::Headers headers;
    std::int64_t length = 0;
    std::function<Result<std::size_t>(std::span<std::byte>)> source;
  };
  Result<std::string> put(Upload upload, const CallOptions& options) const;

  // GET of what lies behind a granted URL from byte `from` on.
  struct Download {
    std::string url;  // absolute, or below the server
    net::Headers headers;
    std::int64_t from = 0;
    std::function<void()> begins;  // if set: the answer is there, its bytes will follow
    std::function<Status(std::span<const std::byte>)> sink;
  };
  // kInvalidArgument if it ends at or before `from`.
  Status download(Download download, const CallOptions& options) const;

 private:
  Result<net::HttpResponse> send(net::ClientRequest request, const CallOptions& options) const;

  net::HttpClient& http_;
  mutable net::ServerList servers_;
  const std::string ca_file_;
  std::string token_;
};

}  // namespace loam::agent
