// SPDX-License-Identifier: Apache-2.0
#include "net/connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include "net/io_loop.h"

namespace loam::net {

namespace {

using Clock = std::chrono::steady_clock;

// A peer that vanished without a FIN (power loss, a cut cable) is noticed after about two minutes
// even while its request is parked and nothing is sent.
void enable_keepalive(int fd) {
  const auto set = [fd](int level, int name, int value) {
    ::setsockopt(fd, level, name, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

}  // namespace

Connection::Connection(IoLoop& loop, boost::asio::ip::tcp::socket socket,
                       std::shared_ptr<ServerCore> core)
    : loop_(loop), core_(std::move(core)), socket_(std::move(socket)) {}

Connection::~Connection() {
  if (!closed()) --core_->connections;  // dropped by a server that stopped before it could start
}

void Connection::start() {
  boost::system::error_code ec;
  const auto remote = socket_.remote_endpoint(ec);
  if (!ec) peer_ = remote.address().to_string();
  socket_.non_blocking(true, ec);
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ec);
  enable_keepalive(socket_.native_handle());
  gone_ = std::make_shared<std::atomic<bool>>(false);
  loop_.add(shared_from_this());
  if (core_->stopping) return close();
  if (core_->options.tls) return begin_tls();
  input_deadline_ = Clock::now() + core_->options.idle_timeout;
  wait_readable();
}

void Connection::begin_drain() {
  if (input_ == Input::kIdle || input_ == Input::kHandshake || events_) close();
}

void Connection::close() {
  if (closed()) return;
  const auto self = shared_from_this();
  const bool was_idle = input_ == Input::kIdle;
  input_ = Input::kClosed;
  ++serial_;
  mark_gone();
  outbox_.abandon(Error{ErrorCode::kUnavailable, "the connection was closed"});
  if (stream_read_) end_stream_read(fail(ErrorCode::kUnavailable, "the connection was closed"));
  if (events_) events_->disconnect();
  // A client that waits for nothing is told that this is no accident.
  if (tls_ && was_idle) tls_->send_farewell();
  boost::system::error_code ignored;
  socket_.close(ignored);
  loop_.remove(self);
  --core_->connections;
}

void Connection::mark_gone() {
  keep_alive_ = false;
  gone_->store(true);
}

void Connection::check_deadlines(TimePoint now) {
  if (now >= output_deadline_) {
    outbox_.abandon(Error{ErrorCode::kDeadlineExceeded, "the client stopped reading the response"});
    return close();
  }
  if (now < input_deadline_) return;
  const Error late{ErrorCode::kDeadlineExceeded, "the request did not arrive in time"};
  switch (input_) {
    case Input::kHeader:
    case Input::kBody:
      return refuse_and_close(408, late);
    case Input::kStream:
      // The handler decides what to answer; what is left of the body makes the connection useless.
      keep_alive_ = false;
      input_error_ = late;
      return end_stream_read(fail(late));
    case Input::kHandshake:
    case Input::kIdle:
    case Input::kDrain:
    case Input::kLinger:
      return close();
    case Input::kComplete:
    case Input::kClosed:
      return;
  }
}

}  // namespace loam::net
