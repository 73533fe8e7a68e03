// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "net/curl_pool.h"
#include "net/http_client.h"

namespace loam::net {

// One request on its way through curl; used by one thread.
class CurlTransfer {
 public:
  // `ca_file` as in ClientRequest.
  CurlTransfer(const ClientRequest& request, const std::string& ca_file);
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  // Drives `multi` until the response is complete or given up.
  Result<HttpResponse> run(CURLM* multi);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  Status set_up();
  Status set_headers();
  void set_method_and_body();
  Result<CURLcode> drive(CURLM* multi);
  // kCanceled or kDeadlineExceeded once it is time to give up.
  Status check_limits();
  Error error_of(CURLcode code);

  std::size_t take_response(std::span<const std::byte> bytes);
  Status show_head(int status);
  void reserve_body(std::uint64_t limit);
  std::size_t take_header(std::string_view line);
  std::size_t give_body(std::span<std::byte> out);
  bool begin_attempt();
  // Remembers why a callback stops the transfer.
  template <typename T>
  T abort_with(Error error, T value);

  const ClientRequest& request_;
  const std::string ca_file_;
  const std::string what_;  // the request in messages
  CurlEasyPtr easy_;
  CurlListPtr headers_;
  std::array<char, CURL_ERROR_SIZE> message_{};
  HttpResponse response_;
  std::optional<Error> error_;
  bool header_complete_ = false;
  bool head_shown_ = false;
  std::int64_t body_left_ = 0;
  int attempts_ = 0;
  TimePoint started_;
  TimePoint moved_;  // when a byte last moved
};

}  // namespace loam::net
