// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace loam::bench {

// Microseconds of a monotonic clock.
std::int64_t now_us();

struct Answer {
  int status = 0;
  std::string_view body;        // valid during the call only
  std::int64_t latency_us = 0;  // from handing the request to the kernel to its whole answer
};

// Thousands of keep-alive connections to one server on loopback, driven by one thread: each carries
// one request at a time and is opened by its first. A connection that the server closed between
// requests is opened again; one that breaks during a request is an error that ends the bench.
class HttpSwarm {
 public:
  using OnAnswer = std::function<Status(const Answer&)>;

  static Result<HttpSwarm> make(std::uint16_t port, std::size_t connections);
  HttpSwarm(HttpSwarm&& other) noexcept;
  HttpSwarm(const HttpSwarm&) = delete;
  HttpSwarm& operator=(const HttpSwarm&) = delete;
  ~HttpSwarm();

  bool busy(std::size_t connection) const { return connections_[connection].busy; }
  std::size_t in_flight() const { return in_flight_; }
  std::size_t open() const { return open_; }
  std::size_t reconnects() const { return reconnects_; }

  // `request` is the whole of it, head and body. The connection must not be busy.
  Status send(std::size_t connection, std::string request, OnAnswer on_answer);
  // Handles what has come, waiting for at most `wait_us` if nothing has.
  Status poll(std::int64_t wait_us);

 private:
  struct Connection {
    int fd = -1;
    bool busy = false;
    bool opened_before = false;
    std::int64_t sent_us = 0;
    std::string out;
    std::size_t written = 0;
    std::string in;
    OnAnswer on_answer;
  };

  HttpSwarm(int epoll, std::uint16_t port, std::size_t connections);
  Status open(std::size_t index);
  void close(Connection& connection);
  Status flush(Connection& connection);
  Status receive(Connection& connection);
  Status take_answer(Connection& connection);

  int epoll_ = -1;
  std::uint16_t port_ = 0;
  std::vector<Connection> connections_;
  std::size_t in_flight_ = 0;
  std::size_t open_ = 0;
  std::size_t reconnects_ = 0;
};

// A request with a JSON body; `extra` is further whole header lines, each with its line break.
std::string post(std::string_view path, std::string_view token, std::string_view extra,
                 std::string_view body);

}  // namespace loam::bench
