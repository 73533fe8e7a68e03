// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "net/connection.h"
#include "net/io_loop.h"
#include "net/response_head.h"

namespace loam::net {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLingerTime{2};
constexpr std::int64_t kMaxDrainable = 64 << 10;

// For HEAD: the length that the handler declared, where it did not build the body.
std::optional<std::int64_t> declared_length(const HttpResponse& response) {
  const std::optional<std::string> text = response.headers.get("Content-Length");
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (ec != std::errc() || end != text->data() + text->size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

void Connection::respond(HttpResponse response) {
  if (closed() || response_ending_) return;
  auto length = static_cast<std::int64_t>(response.body.size());
  if (head_only_ && length == 0) length = declared_length(response).value_or(0);
  send_head(response, length, false);
  if (!head_only_ && !response.body.empty()) outbox_.push(std::move(response.body));
  response_ending_ = true;
  flush();
}

void Connection::start_body(const HttpResponse& head, std::optional<std::int64_t> length) {
  if (closed()) return;
  if (!length && !http_1_1_) keep_alive_ = false;  // the end of the connection is the body's end
  send_head(head, length, !length && http_1_1_);
  flush();
}

void Connection::send_head(const HttpResponse& response, std::optional<std::int64_t> length,
                           bool chunked) {
  keep_alive_ = keep_alive_ && !core_->stopping && body_can_be_drained();
  if (response.headers.get("Connection") == "close") keep_alive_ = false;
  chunked_ = chunked;
  outbox_.push(response_head(
      response,
      {.http_1_1 = http_1_1_, .keep_alive = keep_alive_, .chunked = chunked, .length = length}));
  if (!status_has_body(sent_status(response.status))) head_only_ = true;
}

bool Connection::body_can_be_drained() const {
  if (input_ == Input::kComplete) return true;
  // A client that waits for "100 Continue" may send the body or not; nobody can tell which.
  if (input_ != Input::kStream || continue_due_ || input_error_) return false;
  return !request_ || request_->body_length.value_or(0) <= kMaxDrainable;
}

void Connection::write_body(std::span<const std::byte> bytes, CompletionPtr done) {
  if (closed()) return;
  if (head_only_ || bytes.empty()) return done->answer(std::size_t{0});
  if (chunked_) {
    outbox_.push(fmt::format("{:x}\r\n", bytes.size()));
    outbox_.push_borrowed(bytes, nullptr);
    outbox_.push("\r\n", std::move(done));
  } else {
    outbox_.push_borrowed(bytes, std::move(done));
  }
  flush();
}

void Connection::finish_body(CompletionPtr done) {
  if (closed()) return;
  outbox_.push(chunked_ && !head_only_ ? "0\r\n\r\n" : "", std::move(done));
  response_ending_ = true;
  flush();
}

void Connection::start_events(HttpResponse head, std::shared_ptr<EventQueue> events) {
  if (closed()) return;
  if (head_only_ || core_->stopping) {
    events->disconnect();
    head.status = head_only_ ? 200 : 503;
    return respond(std::move(head));
  }
  events_ = std::move(events);
  start_body(head, std::nullopt);
  pump_events();
}

void Connection::pump_events() {
  // With bytes still on their way, flush() comes back here when they have gone.
  if (closed() || !events_ || !outbox_.empty()) return;
  EventQueue::Taken taken = events_->take();
  if (!taken.bytes.empty()) {
    if (chunked_) outbox_.push(fmt::format("{:x}\r\n", taken.bytes.size()));
    outbox_.push(std::move(taken.bytes));
    if (chunked_) outbox_.push("\r\n");
  }
  if (taken.end) {
    if (chunked_) outbox_.push("0\r\n\r\n");
    events_.reset();
    response_ending_ = true;
  }
  if (!outbox_.empty() || response_ending_) flush();
}

void Connection::flush() {
  if (closed()) return;
  outbox_.consume(0);
  while (!outbox_.empty()) {
    const Result<std::size_t> n = send_some();
    if (!n) return close();
    if (*n == 0) {
      if (output_deadline_ == TimePoint::max()) {
        output_deadline_ = Clock::now() + core_->options.body_stall_timeout;
      }
      return wait_writable();
    }
    output_deadline_ = TimePoint::max();
    outbox_.consume(*n);
  }
  if (response_ending_) return response_done();
  if (!events_) return;
  // By way of the loop's queue, so that a busy stream does not keep the thread to itself.
  loop_.post([self = shared_from_this(), serial = serial_] {
    if (self->serial_ == serial) self->pump_events();
  });
}

Result<std::size_t> Connection::send_some() {
  std::array<std::span<const std::byte>, Outbox::kMaxGather> pieces;
  const std::size_t count = outbox_.gather(pieces);
  if (tls_) return send_tls(std::span(pieces).first(count));
  std::array<boost::asio::const_buffer, Outbox::kMaxGather> buffers;
  for (std::size_t i = 0; i < count; ++i)
    buffers[i] = {pieces[i].data(), pieces[i].size()};
  boost::system::error_code ec;
  const std::size_t n = socket_.write_some(buffers, ec);
  if (!ec) return n;
  if (ec == boost::asio::error::would_block || ec == boost::asio::error::try_again) {
    return std::size_t{0};
  }
  return fail(ErrorCode::kUnavailable, "the client closed the connection: " + ec.message());
}

void Connection::wait_writable() {
  if (write_armed_) return;
  write_armed_ = true;
  socket_.async_wait(boost::asio::ip::tcp::socket::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& ec) {
                       self->write_armed_ = false;
                       if (self->closed()) return;
                       if (ec) return self->close();
                       if (std::exchange(self->input_wants_write_, false)) self->on_readable();
                       self->flush();
                     });
}

void Connection::response_done() {
  const bool gone = gone_->load();
  ++serial_;
  response_ending_ = false;
  chunked_ = false;
  if (stream_read_) {
    end_stream_read(fail(ErrorCode::kUnavailable, "the request has been answered already"));
  }
  const bool complete = input_ == Input::kComplete;
  if (complete && (gone || core_->stopping)) return close();
  if (!keep_alive_ || core_->stopping) return linger();
  if (complete) return next_request();
  input_ = Input::kDrain;
  discarded_ = 0;
  input_deadline_ = Clock::now() + core_->options.request_timeout;
  discard();
}

void Connection::next_request() {
  request_.reset();
  gone_ = std::make_shared<std::atomic<bool>>(false);
  head_only_ = false;
  http_1_1_ = true;
  const bool buffered = reader_ && reader_->has_buffered();
  input_ = buffered ? Input::kHeader : Input::kIdle;
  input_deadline_ =
      Clock::now() + (buffered ? core_->options.request_timeout : core_->options.idle_timeout);
  if (!buffered) {
    reader_.reset();
    return wait_readable();
  }
  // By way of the loop's queue: many requests sent ahead must not become a deep recursion.
  loop_.post([self = shared_from_this(), serial = serial_] {
    if (self->serial_ == serial && self->input_ == Input::kHeader) self->read_header();
  });
}

void Connection::linger() {
  if (tls_) tls_->send_farewell();
  boost::system::error_code ignored;
  socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  input_ = Input::kLinger;
  discarded_ = 0;
  input_deadline_ = Clock::now() + kLingerTime;
  discard();
}

}  // namespace loam::net
