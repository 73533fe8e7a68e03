// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "net/connection.h"
#include "net/exchange.h"
#include "net/io_loop.h"

namespace loam::net {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kBodyStep = 64 << 10;
constexpr std::int64_t kChunkedBodyStep = 16 << 10;
constexpr std::size_t kDiscardStep = 16 << 10;

// What is thrown away of a body after its answer: a short rest so that the connection can be kept,
// or up to what two full socket buffers hold so that a client that is still sending reads the
// answer before it sees a reset.
constexpr std::size_t kMaxDrain = 64 << 10;
constexpr std::size_t kMaxLinger = 16 << 20;

bool is_would_block(const boost::system::error_code& ec) {
  return ec == boost::asio::error::would_block || ec == boost::asio::error::try_again;
}

HttpResponse busy_response() {
  HttpResponse response = error_response(
      Error{ErrorCode::kUnavailable, "the server has too many requests waiting; try again"});
  response.headers.add("Retry-After", "1");
  return response;
}

}  // namespace

void Connection::wait_readable() {
  if (read_armed_ || closed()) return;
  read_armed_ = true;
  if (tls_ && tls_->has_pending()) {
    return loop_.post([self = shared_from_this()] {
      self->read_armed_ = false;
      self->on_readable();
    });
  }
  socket_.async_wait(boost::asio::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& ec) {
                       self->read_armed_ = false;
                       if (self->closed()) return;
                       if (ec) return self->close();
                       self->on_readable();
                     });
}

void Connection::on_readable() {
  switch (input_) {
    case Input::kHandshake:
      return continue_handshake();
    case Input::kIdle:
    case Input::kHeader:
      return read_header();
    case Input::kBody:
      return read_buffered_body();
    case Input::kStream:
      if (stream_read_) continue_stream_read();
      return;
    case Input::kComplete:
      return watch_client();
    case Input::kDrain:
    case Input::kLinger:
      return discard();
    case Input::kClosed:
      return;
  }
}

Result<std::size_t> Connection::receive(std::span<std::byte> out) {
  if (tls_) return receive_tls(out);
  boost::system::error_code ec;
  const std::size_t n = socket_.read_some(boost::asio::buffer(out.data(), out.size()), ec);
  if (!ec) return n;
  if (is_would_block(ec)) return std::size_t{0};
  return fail(ErrorCode::kUnavailable, "the client closed the connection: " + ec.message());
}

void Connection::read_header() {
  if (!reader_) {
    reader_ =
        std::make_unique<RequestReader>(static_cast<std::size_t>(core_->options.max_header_bytes));
  }
  for (;;) {
    Result<std::optional<RequestHead>> head = reader_->next_head();
    if (!head) {
      return refuse_and_close(head.error().code == ErrorCode::kTooLarge ? 431 : 400, head.error());
    }
    if (*head) return begin_request(std::move(**head));
    const Result<std::size_t> n = receive(reader_->prepare());
    if (!n) return close();
    if (*n == 0) break;
    if (input_ == Input::kIdle) {
      input_ = Input::kHeader;
      input_deadline_ = Clock::now() + core_->options.request_timeout;
    }
    reader_->commit(*n);
  }
  if (input_ == Input::kIdle) reader_.reset();  // woken for nothing
  wait_readable();
}

void Connection::begin_request(RequestHead head) {
  http_1_1_ = head.http_1_1;
  keep_alive_ = head.keep_alive;
  head_only_ = head.method == "HEAD";
  continue_due_ = head.expects_continue && http_1_1_ && head.body_length != 0;
  gone_ = std::make_shared<std::atomic<bool>>(false);
  input_error_.reset();
  input_ = reader_->body_complete() ? Input::kComplete : Input::kStream;
  input_deadline_ = TimePoint::max();

  request_ = std::make_unique<Request>();
  request_->body_length = head.body_length;
  HttpRequest& http = request_->http;
  http.method = std::move(head.method);
  http.target = std::move(head.target);
  http.headers = std::move(head.headers);
  http.peer = peer_;
  Result<RequestTarget> target = parse_target(http.target);
  if (!target) return refuse(400, target.error());
  http.path = std::move(target->path);
  http.query = std::move(target->query);
  route_request(*target);
}

void Connection::route_request(const RequestTarget& target) {
  HttpRequest& http = request_->http;
  RouteMatch match = core_->router->impl().match(http.method, target.raw_path);
  if (match.route == nullptr && match.allow.empty()) {
    return refuse(404, Error{ErrorCode::kNotFound, "no such path: " + http.path});
  }
  if (match.route == nullptr) {
    return refuse(405,
                  Error{ErrorCode::kInvalidArgument,
                        http.method + " is not allowed on " + http.path + "; use " + match.allow},
                  match.allow);
  }
  const std::int64_t max_body = match.route->options.max_body_bytes;
  if (request_->body_length.value_or(0) > max_body) {
    return refuse(413, Error{ErrorCode::kTooLarge, "the body is over the limit of " +
                                                       std::to_string(max_body) + " bytes"});
  }
  reader_->limit_chunked_body(max_body);
  http.params = std::move(match.params);
  request_->route = match.route;
  if (input_ == Input::kComplete || match.route->stream_handler) return dispatch();
  begin_body();
}

void Connection::begin_body() {
  input_ = Input::kBody;
  input_deadline_ = Clock::now() + core_->options.request_timeout;
  if (continue_due_) send_continue();
  if (!closed()) read_buffered_body();
}

void Connection::send_continue() {
  continue_due_ = false;
  outbox_.push("HTTP/1.1 100 Continue\r\n\r\n");
  flush();
}

Result<std::size_t> Connection::fill(std::span<std::byte> out) {
  if (input_error_) return fail(*input_error_);
  std::size_t got = 0;
  const auto stop_at = [&](const Error& error) -> Result<std::size_t> {
    if (got == 0) return fail(error);
    input_error_ = error;
    return got;
  };
  while (got < out.size() && !reader_->body_complete()) {
    const std::span<std::byte> room = out.subspan(got);
    const Result<std::size_t> taken = reader_->take_body(room);
    if (!taken) return stop_at(taken.error());
    got += *taken;
    if (*taken > 0 || reader_->body_complete()) continue;
    const auto direct = static_cast<std::uint64_t>(reader_->direct_bytes());
    const Result<std::size_t> n = receive(
        direct > 0 ? room.first(std::min<std::size_t>(room.size(), direct)) : reader_->prepare());
    if (!n) return stop_at(n.error());
    if (*n == 0) break;
    if (direct > 0) {
      reader_->took_direct(*n);
      got += *n;
    } else {
      reader_->commit(*n);
    }
  }
  return got;
}

void Connection::read_buffered_body() {
  std::string& body = request_->http.body;
  for (;;) {
    const std::size_t before = body.size();
    const std::int64_t step =
        request_->body_length
            ? std::min(*request_->body_length - static_cast<std::int64_t>(before), kBodyStep)
            : kChunkedBodyStep;
    body.resize(before + static_cast<std::size_t>(step));
    const Result<std::size_t> n = fill(std::as_writable_bytes(std::span(body)).subspan(before));
    body.resize(before + (n ? *n : 0));
    if (!n && n.error().code == ErrorCode::kUnavailable) return close();
    if (!n) {
      return refuse_and_close(n.error().code == ErrorCode::kTooLarge ? 413 : 400, n.error());
    }
    if (reader_->body_complete()) break;
    if (*n == 0) return wait_readable();
  }
  input_ = Input::kComplete;
  input_deadline_ = TimePoint::max();
  dispatch();
}

void Connection::read_body(std::span<std::byte> out, CompletionPtr done) {
  if (closed()) return;
  CHECK(!stream_read_);
  if (input_ == Input::kComplete) return done->answer(std::size_t{0});
  stream_read_ = StreamRead{out, std::move(done)};
  input_deadline_ = Clock::now() + core_->options.body_stall_timeout;
  if (continue_due_) send_continue();
  if (!closed()) continue_stream_read();
}

void Connection::continue_stream_read() {
  const Result<std::size_t> n = fill(stream_read_->out);
  if (!n) {
    keep_alive_ = false;
    if (n.error().code == ErrorCode::kUnavailable) mark_gone();
    return end_stream_read(n);
  }
  const bool complete = reader_->body_complete();
  if (*n == 0 && !complete) return wait_readable();
  if (complete) {
    input_ = Input::kComplete;
    request_complete();
  }
  end_stream_read(n);
}

void Connection::end_stream_read(const Result<std::size_t>& result) {
  input_deadline_ = TimePoint::max();
  if (!stream_read_) return;
  const CompletionPtr done = std::move(stream_read_->done);
  stream_read_.reset();
  done->answer(result);
}

void Connection::dispatch() {
  const ExchangeLink link{loop_.weak_from_this(), weak_from_this(), serial_, gone_};
  const Route* route = request_->route;
  ResponderPtr responder = make_responder(link, head_only_);
  std::function<void()> task;
  if (route->stream_handler) {
    task = [route, link, responder, length = request_->body_length,
            http = std::move(request_->http)]() mutable {
      const auto body = make_body_reader(link, length);
      route->stream_handler(std::move(http), *body, std::move(responder));
    };
  } else {
    task = [route, responder, http = std::move(request_->http)]() mutable {
      route->handler(std::move(http), std::move(responder));
    };
  }
  if (input_ == Input::kComplete) request_complete();
  if (!core_->lane(route->options.lane).submit(std::move(task))) responder->send(busy_response());
}

void Connection::request_complete() {
  if (!reader_->has_buffered()) reader_.reset();
  wait_readable();
}

void Connection::watch_client() {
  if (tls_) return watch_tls_client();
  std::byte peeked{};
  boost::system::error_code ec;
  socket_.receive(boost::asio::buffer(&peeked, 1), boost::asio::socket_base::message_peek, ec);
  if (is_would_block(ec)) return wait_readable();
  // Bytes are the next request: they wait in the kernel until this one has been answered.
  if (!ec) return;
  if (ec != boost::asio::error::eof) return close();
  client_ended();
}

// A client may have shut down only its sending side, so it still gets its answer; but a stream of
// events has no end that could be waited for.
void Connection::client_ended() {
  if (events_) return close();
  mark_gone();
}

void Connection::discard() {
  std::array<std::byte, kDiscardStep> scratch;
  const bool drain = input_ == Input::kDrain;
  const std::size_t limit = drain ? kMaxDrain : kMaxLinger;
  while (discarded_ <= limit) {
    const Result<std::size_t> n = drain ? fill(scratch) : receive(scratch);
    if (!n) return close();
    if (drain && reader_->body_complete()) return next_request();
    if (*n == 0) return wait_readable();
    discarded_ += *n;
  }
  if (drain) return linger();
  close();
}

void Connection::refuse(int status, const Error& error, std::string allow) {
  HttpResponse response = error_response(error, status);
  if (!allow.empty()) response.headers.add("Allow", std::move(allow));
  respond(std::move(response));
}

void Connection::refuse_and_close(int status, const Error& error) {
  keep_alive_ = false;
  continue_due_ = false;
  input_ = Input::kStream;
  input_deadline_ = TimePoint::max();
  refuse(status, error);
}

}  // namespace loam::net
