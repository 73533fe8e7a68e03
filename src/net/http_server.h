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

// The body of a request on a streaming route. Blocks the calling worker; one thread at a time.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  // Up to out.size() bytes; 0 at the end. kUnavailable if the client went away before the promised
  // end, kDeadlineExceeded if it sent nothing for the idle limit, kTooLarge over the route's bound.
  virtual Result<std::size_t> read(std::span<std::byte> out) = 0;
  // Content-Length; none for a chunked body.
  virtual std::optional<std::int64_t> length() const = 0;
};

// Writes a response body piece by piece; each call blocks until the socket took the bytes.
class BodyWriter {
 public:
  virtual ~BodyWriter() = default;
  virtual Status write(std::span<const std::byte> bytes) = 0;
  // Ends the body. Dropping a writer without finish() closes the connection, so that a client never
  // takes a truncated body for a whole one.
  virtual Status finish() = 0;
};

// A server-sent-events stream. send() never blocks: what the client has not taken waits in a queue
// of at most 1 MiB, and a client that falls behind further is disconnected. Any thread.
class EventStream {
 public:
  virtual ~EventStream() = default;
  // One event, already framed ("id: 7\nevent: job\ndata: {…}\n\n"). False once disconnected.
  // More than a megabyte that the client has not taken disconnects it.
  virtual bool send(std::string frame) = 0;
  // Whether less than half of that waits for the client. History is sent only while it is true.
  virtual bool has_room() const = 0;
  virtual bool open() const = 0;
  virtual void close() = 0;
};

// Answers one request, exactly once, from any thread, now or later: the first answer counts, a
// later one is ignored. If it is dropped unanswered the client gets 500. Handlers that wait (long
// polls) keep it and hold no thread. It may outlive its connection and its server.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void send(HttpResponse response) = 0;
  // Starts a streamed body (chunked without a length); `head.body` is not used. Does not wait: a
  // client that has gone shows at the first write.
  virtual Result<std::unique_ptr<BodyWriter>> start(HttpResponse head,
                                                    std::optional<std::int64_t> length) = 0;
  virtual std::shared_ptr<EventStream> start_events() = 0;
  // False once the client is known to have gone.
  virtual bool connected() const = 0;
};
using ResponderPtr = std::shared_ptr<Responder>;

// Which threads run a route's handler: control handlers are short and never wait for bytes;
// transfer handlers may block on bodies. Neither lane can starve the other.
enum class Lane { kControl, kTransfer };

using Handler = std::function<void(HttpRequest request, ResponderPtr responder)>;
using StreamHandler =
    std::function<void(HttpRequest request, BodyReader& body, ResponderPtr responder)>;

struct RouteOptions {
  Lane lane = Lane::kControl;
  std::int64_t max_body_bytes = 1 << 20;
};

// Paths are literal segments, "{name}" for one segment that is not empty and "{name...}" for the
// rest (last only, may hold slashes, may be empty: "/a/{x...}" takes "/a", "/a/" and "/a/b/c").
// Where several fit, a literal goes before a name and a name before the rest. Routes are added
// before the server starts; a malformed or repeated one is a bug and fails a CHECK.
class Router {
 public:
  Router();
  ~Router();
  void add(std::string method, std::string pattern, RouteOptions options, Handler handler);
  // The handler is given the body as it arrives; always in the transfer lane.
  void add_stream(std::string method, std::string pattern, RouteOptions options,
                  StreamHandler handler);
  // (method, pattern) of every route, in order of addition; for documentation and tests.
  std::vector<std::pair<std::string, std::string>> list() const;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

class TlsIdentity;

struct HttpServerOptions {
  std::string address = "127.0.0.1";  // numeric; "::" takes both families
  std::uint16_t port = 0;             // 0 picks a free one
  int io_threads = 2;
  int control_threads = 32;
  int transfer_threads = 16;
  std::int64_t max_header_bytes = 32 << 10;
  int max_connections = 20'000;
  std::size_t max_queued_requests = 4'096;               // per lane; beyond it 503 with Retry-After
  std::chrono::milliseconds idle_timeout{75'000};        // between requests
  std::chrono::milliseconds request_timeout{30'000};     // for a header or a small body to arrive
  std::chrono::milliseconds body_stall_timeout{30'000};  // no byte moved on a streamed body
  std::shared_ptr<TlsIdentity> tls;  // https with this certificate; without it http
};

// HTTP/1.1 with keep-alive and pipelining of nothing: one request at a time per connection.
// HEAD is answered from GET's handler without its body. "Expect: 100-continue" is honoured after
// the route and its size bound have been checked, on a streaming route when its handler first
// reads. A body over the bound gets 413 without being read, an unknown path 404, a known path with
// another method 405 with Allow, a bad request 400, a header over its bound 431, one that is late
// 408, a full lane 503, each as {"error","message","code"}. With `tls` it is TLS 1.2 or later, and
// who speaks plain HTTP gets a 400 that says so.
class HttpServer {
 public:
  // Binds and starts; kUnavailable names the address that could not be bound.
  static Result<std::unique_ptr<HttpServer>> start(std::shared_ptr<Router> router,
                                                   const HttpServerOptions& options);
  virtual ~HttpServer() = default;
  virtual std::uint16_t port() const = 0;
  virtual int connections() const = 0;
  // Stops accepting, lets requests in progress end for at most `grace`, then closes all.
  // Idempotent.
  virtual void stop(std::chrono::milliseconds grace) = 0;
};

// {"error": <code name>, "message": …, "code": <HTTP status>} with the status that fits.
HttpResponse error_response(const Error& error);
// The same with a status of its own, for the few that no ErrorCode means (405, 408, 431).
HttpResponse error_response(const Error& error, int status);
HttpResponse json_response(int status, std::string body);

}  // namespace loam::net
