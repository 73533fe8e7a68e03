// SPDX-License-Identifier: Apache-2.0
#include "http_swarm.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"

namespace loam::bench {

namespace {

constexpr int kEventsPerPoll = 512;
constexpr std::size_t kMaxAnswer = 1 << 20;

tl::unexpected<Error> os_error(std::string_view what) {
  return fail(ErrorCode::kUnavailable, fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  while (text.starts_with(' '))
    text.remove_prefix(1);
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

// The value of Content-Length; nothing if the head has none.
std::optional<std::size_t> content_length(std::string_view head) {
  constexpr std::string_view kName = "\r\nContent-Length:";
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;
       at = head.find("\r\n", at + 2)) {
    const std::string_view rest = head.substr(at);
    if (rest.size() < kName.size() || strncasecmp(rest.data(), kName.data(), kName.size()) != 0) {
      continue;
    }
    const std::string_view value = rest.substr(kName.size());
    return parse_number<std::size_t>(value.substr(0, value.find("\r\n")));
  }
  return std::nullopt;
}

}  // namespace

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string post(std::string_view path, std::string_view token, std::string_view extra,
                 std::string_view body) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n"
      "Content-Type: application/json\r\n{}Content-Length: {}\r\n\r\n{}",
      path, token, extra, body.size(), body);
}

Result<HttpSwarm> HttpSwarm::make(std::uint16_t port, std::size_t connections) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) return os_error("make an epoll set");
  return HttpSwarm(epoll, port, connections);
}

HttpSwarm::HttpSwarm(int epoll, std::uint16_t port, std::size_t connections)
    : epoll_(epoll), port_(port), connections_(connections) {}

HttpSwarm::HttpSwarm(HttpSwarm&& other) noexcept
    : epoll_(std::exchange(other.epoll_, -1)),
      port_(other.port_),
      connections_(std::move(other.connections_)),
      in_flight_(other.in_flight_),
      open_(other.open_),
      reconnects_(other.reconnects_) {}

HttpSwarm::~HttpSwarm() {
  for (Connection& connection : connections_)
    close(connection);
  if (epoll_ >= 0) ::close(epoll_);
}

void HttpSwarm::close(Connection& connection) {
  if (connection.fd < 0) return;
  ::close(connection.fd);
  connection.fd = -1;
  --open_;
}

Status HttpSwarm::open(std::size_t index) {
  Connection& connection = connections_[index];
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return os_error("make a socket");
  connection.fd = fd;
  ++open_;
  if (connection.opened_before) ++reconnects_;
  connection.opened_before = true;
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS) {
    return os_error("connect to the server");
  }
  // Edge-triggered, so that it need not be told about each request.
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = index;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) return os_error("watch a socket");
  return {};
}

Status HttpSwarm::send(std::size_t index, std::string request, OnAnswer on_answer) {
  Connection& connection = connections_[index];
  CHECK(!connection.busy);
  if (connection.fd < 0) TRY_VOID(open(index));
  connection.busy = true;
  ++in_flight_;
  connection.out = std::move(request);
  connection.written = 0;
  connection.on_answer = std::move(on_answer);
  connection.sent_us = now_us();
  return flush(connection);
}

Status HttpSwarm::flush(Connection& connection) {
  while (connection.written < connection.out.size()) {
    const ssize_t n = ::send(connection.fd, connection.out.data() + connection.written,
                             connection.out.size() - connection.written, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    // A socket that is still connecting says ENOTCONN or EAGAIN; EPOLLOUT follows.
    if (n < 0 && (errno == EAGAIN || errno == ENOTCONN)) return {};
    if (n < 0) return os_error("send a request");
    connection.written += static_cast<std::size_t>(n);
  }
  return {};
}

Status HttpSwarm::receive(Connection& connection) {
  std::array<char, 16 << 10> buffer;
  while (connection.fd >= 0) {
    const ssize_t n = recv(connection.fd, buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == ENOTCONN)) return {};
    if (n <= 0) {
      if (connection.busy) {
        return fail(ErrorCode::kUnavailable, "the server closed a connection during a request");
      }
      close(connection);
      return {};
    }
    connection.in.append(buffer.data(), static_cast<std::size_t>(n));
    if (connection.in.size() > kMaxAnswer) return fail(ErrorCode::kTooLarge, "an answer too long");
    TRY_VOID(take_answer(connection));
  }
  return {};
}

Status HttpSwarm::take_answer(Connection& connection) {
  const std::size_t head_end = connection.in.find("\r\n\r\n");
  if (head_end == std::string::npos) return {};
  const std::string_view all = connection.in;
  const std::string_view head = all.substr(0, head_end + 2);
  const auto status = parse_number<int>(head.substr(std::min<std::size_t>(head.size(), 9), 3));
  const auto length = content_length(head);
  if (!head.starts_with("HTTP/1.1 ") || !status || (!length && *status != 204)) {
    return fail(ErrorCode::kDataCorrupt, fmt::format("not an answer as expected: {}", head));
  }
  const std::size_t size = head_end + 4 + length.value_or(0);
  if (all.size() < size) return {};
  if (all.size() > size || !connection.busy) {
    return fail(ErrorCode::kDataCorrupt, "the server sent more than one answer");
  }
  connection.busy = false;
  --in_flight_;
  const OnAnswer on_answer = std::exchange(connection.on_answer, nullptr);
  const std::string answer = std::exchange(connection.in, {});
  return on_answer({.status = *status,
                    .body = std::string_view(answer).substr(head_end + 4),
                    .latency_us = now_us() - connection.sent_us});
}

Status HttpSwarm::poll(std::int64_t wait_us) {
  std::array<epoll_event, kEventsPerPoll> events;
  const timespec wait{.tv_sec = wait_us / 1'000'000, .tv_nsec = wait_us % 1'000'000 * 1'000};
  const int count = epoll_pwait2(epoll_, events.data(), kEventsPerPoll, &wait, nullptr);
  if (count < 0 && errno != EINTR) return os_error("wait for answers");
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    Connection& connection = connections_[event.data.u64];
    if (connection.fd < 0) continue;
    if ((event.events & EPOLLOUT) != 0 && connection.busy) TRY_VOID(flush(connection));
    if ((event.events & ~std::uint32_t{EPOLLOUT}) != 0) TRY_VOID(receive(connection));
  }
  return {};
}

}  // namespace loam::bench
