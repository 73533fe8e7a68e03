// SPDX-License-Identifier: Apache-2.0
#include "net/response_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>
#include <string_view>

#include "base/log.h"

namespace loam::net {

namespace {

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "";
  }
}

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 section 5.6.7), in English whatever the locale.
std::string http_date(std::time_t now) {
  static constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                     kMonths[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

bool is_token(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

bool is_safe_value(std::string_view value) {
  return value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

bool is_framing(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames{"content-length", "transfer-encoding",
                                                          "connection", "date"};
  std::string lower(name);
  for (char& c : lower)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::find(kNames.begin(), kNames.end(), lower) != kNames.end();
}

}  // namespace

int sent_status(int status) {
  return status >= 200 && status <= 999 ? status : 500;
}

bool status_has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

std::string response_head(const HttpResponse& response, const ResponseFraming& framing) {
  const int status = sent_status(response.status);
  std::string out;
  out.reserve(256);
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "HTTP/1.1 {} {}\r\nDate: {}\r\n", status, reason_phrase(status),
                 http_date(std::time(nullptr)));
  for (const auto& [name, value] : response.headers.all()) {
    if (is_framing(name)) continue;
    if (!is_token(name) || !is_safe_value(value)) {
      LOG_WARN("a response header was dropped: its name or value has characters not allowed there");
      continue;
    }
    fmt::format_to(to, "{}: {}\r\n", name, value);
  }
  if (status_has_body(status)) {
    if (framing.length) fmt::format_to(to, "Content-Length: {}\r\n", *framing.length);
    if (framing.chunked) out += "Transfer-Encoding: chunked\r\n";
  }
  if (!framing.keep_alive) {
    out += "Connection: close\r\n";
  } else if (!framing.http_1_1) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
  return out;
}

}  // namespace loam::net
