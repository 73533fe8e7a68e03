// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "net/asio.h"
#include "net/completion.h"
#include "net/event_queue.h"
#include "net/outbox.h"
#include "net/request_reader.h"
#include "net/request_target.h"
#include "net/server_core.h"
#include "net/tls_stream.h"

namespace loam::net {

class IoLoop;

// One client's connection: a state machine that only its loop's thread touches. Its input side goes
// idle -> header -> (body | stream) -> complete -> idle; its output side is the outbox. Sockets are
// read and written without blocking, and only readiness is waited for, so that an idle connection
// owns no buffer: the one wait that notices a client that left is also the wait for the next
// request. With TLS it begins with the handshake, and bytes pass through the TlsStream.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Connection(IoLoop& loop, boost::asio::ip::tcp::socket socket, std::shared_ptr<ServerCore> core);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  // The server stops: closes at once if idle or streaming events, else after the response.
  void begin_drain();
  void close();
  void check_deadlines(TimePoint now);

  // Grows when a request has been answered; what an exchange asks for is done only while it is the
  // current one.
  std::uint64_t serial() const { return serial_; }
  void respond(HttpResponse response);
  // Sends the head of a streamed body; chunked where there is no length and HTTP/1.1.
  void start_body(const HttpResponse& head, std::optional<std::int64_t> length);
  void write_body(std::span<const std::byte> bytes, CompletionPtr done);
  void finish_body(CompletionPtr done);
  void start_events(HttpResponse head, std::shared_ptr<EventQueue> events);
  void pump_events();
  void read_body(std::span<std::byte> out, CompletionPtr done);

 private:
  enum class Input {
    kHandshake,  // TLS is being set up
    kIdle,       // between requests
    kHeader,     // part of a header has come
    kBody,       // a body that is kept in memory is coming
    kStream,     // a body that its handler reads
    kComplete,   // the request has come whole; only the client's leaving is of interest
    kDrain,      // answered; the short rest of a body is thrown away, then idle
    kLinger,     // answered and shut down; input is thrown away for a while, then closed
    kClosed,
  };
  // The one being received.
  struct Request {
    HttpRequest http;
    const Route* route = nullptr;
    std::optional<std::int64_t> body_length;
  };
  // A worker's read that waits for bytes.
  struct StreamRead {
    std::span<std::byte> out;
    CompletionPtr done;
  };

  // TLS: connection_tls.cc.
  void begin_tls();
  void continue_handshake();
  // Answers a client that speaks plain HTTP in kind.
  void refuse_plain_http();
  Result<std::size_t> receive_tls(std::span<std::byte> out);
  Result<std::size_t> send_tls(std::span<const std::span<const std::byte>> pieces);
  void watch_tls_client();

  // Input: connection_read.cc.
  void wait_readable();
  void on_readable();
  void read_header();
  void begin_request(RequestHead head);
  void begin_body();
  void route_request(const RequestTarget& target);
  void read_buffered_body();
  void continue_stream_read();
  void end_stream_read(const Result<std::size_t>& result);
  // Bytes moved to `out`; 0 if none have come yet or the body is complete.
  Result<std::size_t> fill(std::span<std::byte> out);
  // From the socket; 0 if none have come. kUnavailable at its end.
  Result<std::size_t> receive(std::span<std::byte> out);
  void client_ended();
  void send_continue();
  // Hands the request to a worker.
  void dispatch();
  void watch_client();
  void discard();
  // Answers without a handler.
  void refuse(int status, const Error& error, std::string allow = "");
  // The input makes no sense from here on, so the connection ends with the answer.
  void refuse_and_close(int status, const Error& error);

  // Output: connection_write.cc.
  void flush();
  // Bytes that the socket took; 0 if it has no room.
  Result<std::size_t> send_some();
  void wait_writable();
  void send_head(const HttpResponse& response, std::optional<std::int64_t> length, bool chunked);
  void response_done();
  bool body_can_be_drained() const;
  void next_request();
  void request_complete();
  void linger();
  void mark_gone();
  bool closed() const { return input_ == Input::kClosed; }

  IoLoop& loop_;
  const std::shared_ptr<ServerCore> core_;
  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<TlsStream> tls_;
  bool input_wants_write_ = false;  // TLS has to send something before it can read on
  std::string peer_;
  std::uint64_t serial_ = 1;

  Input input_ = Input::kIdle;
  TimePoint input_deadline_ = TimePoint::max();
  bool read_armed_ = false;
  std::unique_ptr<RequestReader> reader_;
  std::unique_ptr<Request> request_;
  std::optional<StreamRead> stream_read_;
  std::optional<Error> input_error_;  // came after bytes that had to be handed over first
  std::size_t discarded_ = 0;
  // Set when the client is known to have gone; shared with the exchange of the current request.
  std::shared_ptr<std::atomic<bool>> gone_;

  Outbox outbox_;
  TimePoint output_deadline_ = TimePoint::max();
  bool write_armed_ = false;
  bool http_1_1_ = true;
  bool keep_alive_ = true;
  bool head_only_ = false;     // HEAD, or a status without a body
  bool continue_due_ = false;  // the client waits for "100 Continue"
  bool chunked_ = false;
  bool response_ending_ = false;  // once the outbox is empty, the response is done
  std::shared_ptr<EventQueue> events_;
};

}  // namespace loam::net
