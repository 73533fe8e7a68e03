// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>

#include "base/log.h"
#include "net/connection.h"
#include "net/io_loop.h"

namespace loam::net {

namespace {

using Clock = std::chrono::steady_clock;
using State = TlsStream::State;

// The most that one TLS record carries.
constexpr std::size_t kRecord = 16 << 10;

}  // namespace

void Connection::begin_tls() {
  input_ = Input::kHandshake;
  input_deadline_ = Clock::now() + core_->options.request_timeout;
  tls_ = TlsStream::make(*core_->options.tls, socket_.native_handle());
  if (!tls_) return close();
  wait_readable();
}

void Connection::continue_handshake() {
  std::byte first{};
  boost::system::error_code ec;
  socket_.receive(boost::asio::buffer(&first, 1), boost::asio::socket_base::message_peek, ec);
  // A method's name begins with a letter, which is no TLS record.
  if (!ec && first >= std::byte{'A'} && first <= std::byte{'Z'}) return refuse_plain_http();
  const TlsStream::Outcome outcome = tls_->handshake();
  switch (outcome.state) {
    case State::kWantRead:
      return wait_readable();
    case State::kWantWrite:
      input_wants_write_ = true;
      return wait_writable();
    case State::kDone:
      input_ = Input::kIdle;
      input_deadline_ = Clock::now() + core_->options.idle_timeout;
      return wait_readable();
    case State::kEnd:
    case State::kFailed:
      LOG_DEBUG("the TLS handshake with {} failed: {}", peer_, outcome.error);
      return close();
  }
}

void Connection::refuse_plain_http() {
  tls_.reset();
  refuse_and_close(400, Error{ErrorCode::kInvalidArgument,
                              "this port speaks HTTPS; write https:// instead of http://"});
}

Result<std::size_t> Connection::receive_tls(std::span<std::byte> out) {
  const TlsStream::Outcome outcome = tls_->read(out);
  switch (outcome.state) {
    case State::kDone:
      return outcome.bytes;
    case State::kWantRead:
      return std::size_t{0};
    case State::kWantWrite:
      input_wants_write_ = true;
      wait_writable();
      return std::size_t{0};
    case State::kEnd:
      return fail(ErrorCode::kUnavailable, "the client closed the connection");
    case State::kFailed:
      break;
  }
  return fail(ErrorCode::kUnavailable, "the connection broke: " + outcome.error);
}

Result<std::size_t> Connection::send_tls(std::span<const std::span<const std::byte>> pieces) {
  // Small pieces share a record: each costs a cipher run and some thirty bytes. What is offered
  // again after a full socket begins with the same bytes and is no shorter, as OpenSSL wants it.
  std::span<const std::byte> bytes = pieces.front();
  std::array<std::byte, kRecord> gathered;
  if (pieces.size() > 1 && bytes.size() < kRecord) {
    std::size_t size = 0;
    for (const std::span<const std::byte> piece : pieces) {
      const std::size_t n = std::min(piece.size(), gathered.size() - size);
      if (n > 0) std::memcpy(gathered.data() + size, piece.data(), n);
      size += n;
    }
    bytes = std::span(gathered).first(size);
  }
  if (bytes.empty()) return std::size_t{0};
  const TlsStream::Outcome outcome = tls_->write(bytes);
  if (outcome.state == State::kDone) return outcome.bytes;
  if (outcome.state == State::kWantWrite) return std::size_t{0};
  return fail(ErrorCode::kUnavailable, "the connection broke: " + outcome.error);
}

void Connection::watch_tls_client() {
  const TlsStream::Outcome outcome = tls_->peek();
  switch (outcome.state) {
    case State::kDone:  // the next request, which waits until this one has been answered
      return;
    case State::kWantRead:
      return wait_readable();
    case State::kWantWrite:
      input_wants_write_ = true;
      return wait_writable();
    case State::kEnd:
      return client_ended();
    case State::kFailed:
      return close();
  }
}

}  // namespace loam::net
