// SPDX-License-Identifier: Apache-2.0
#include "net/curl_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "base/redact.h"

namespace loam::net {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How often a waiting request looks at `canceled` and at its limits.
constexpr milliseconds kLook{100};
// Shorter than the idle timeout of our server (75 s) and of S3 services, so that a connection is
// seldom picked up just as the other end closes it.
constexpr long kMaxIdleSeconds = 50;
constexpr long kStreamBuffer = 256 << 10;
constexpr long kBodyBuffer = 64 << 10;

bool has_line_break(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

ErrorCode meaning_of(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    // A certificate that is not trusted does not become so by trying again.
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return ErrorCode::kInvalidArgument;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
      return ErrorCode::kInternal;
    default:
      return ErrorCode::kUnavailable;
  }
}

}  // namespace

CurlTransfer::CurlTransfer(const ClientRequest& request, const std::string& ca_file)
    : request_(request),
      ca_file_(ca_file),
      // Without the query and the user, which must not get into logs.
      what_(request.method + " " + redacted(request.url.substr(0, request.url.find('?')))),
      easy_(curl_easy_init()),
      body_left_(request.body_source ? request.body_length : 0),
      started_(Clock::now()),
      moved_(started_) {}

template <typename T>
T CurlTransfer::abort_with(Error error, T value) {
  if (!error_) error_ = std::move(error);
  return value;
}

Result<HttpResponse> CurlTransfer::run(CURLM* multi) {
  TRY_VOID(set_up());
  TRY_VOID(check_limits());
  if (curl_multi_add_handle(multi, easy_.get()) != CURLM_OK) {
    return fail(ErrorCode::kInternal, "curl refused a request");
  }
  const Result<CURLcode> code = drive(multi);
  curl_multi_remove_handle(multi, easy_.get());
  if (!code) return fail(code.error());
  if (*code != CURLE_OK) return fail(error_of(*code));
  // curl is content with a connection that ends within the header.
  if (!header_complete_) return fail(error_of(CURLE_PARTIAL_FILE));
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  response_.status = static_cast<int>(status);
  return std::move(response_);
}

Status CurlTransfer::set_up() {
  CURL* easy = easy_.get();
  if (easy == nullptr) return fail(ErrorCode::kInternal, "curl could not be initialised");
  if (has_line_break(request_.url) || has_line_break(request_.method)) {
    return fail(ErrorCode::kInvalidArgument, "a line break in the URL or method of a request");
  }
  if (request_.body_source && request_.body_length < 0) {
    return fail(ErrorCode::kInvalidArgument, "a streamed request body needs its length");
  }
  curl_easy_setopt(easy, CURLOPT_URL, request_.url.c_str());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, message_.data());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  // The path goes out as it is: "/a/../b" is a legal S3 key and was signed that way.
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  // What goes on inside a cluster must not depend on the proxy settings of a login shell.
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, kMaxIdleSeconds);
  // Giving up must not wait for a resolver that hangs.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!ca_file_.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file_.c_str());
  const long connect_ms = std::max<long>(1, static_cast<long>(request_.connect_timeout.count()));
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
  set_method_and_body();

  const auto on_write = +[](char* data, std::size_t, std::size_t n, void* self) {
    return static_cast<CurlTransfer*>(self)->take_response(std::as_bytes(std::span(data, n)));
  };
  const auto on_header = +[](char* data, std::size_t, std::size_t n, void* self) {
    return static_cast<CurlTransfer*>(self)->take_header(std::string_view(data, n));
  };
  const auto on_attempt = +[](void* self, char*, char*, int, int) {
    return static_cast<CurlTransfer*>(self)->begin_attempt() ? CURL_PREREQFUNC_OK
                                                             : CURL_PREREQFUNC_ABORT;
  };
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_attempt);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
  return set_headers();
}

void CurlTransfer::set_method_and_body() {
  CURL* easy = easy_.get();
  const std::string& method = request_.method;
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, request_.sink ? kStreamBuffer : kBodyBuffer);
  if (request_.body_source) {
    const auto on_read = +[](char* data, std::size_t, std::size_t n, void* self) {
      return static_cast<CurlTransfer*>(self)->give_body(
          std::as_writable_bytes(std::span(data, n)));
    };
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, kStreamBuffer);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t{request_.body_length});
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(easy, CURLOPT_READDATA, this);
  } else if (!request_.body.empty() || method == "POST" || method == "PUT" || method == "PATCH") {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request_.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request_.body.data());
  } else if (method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    return;
  }
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method.c_str());
}

Status CurlTransfer::set_headers() {
  bool has_type = false;
  const auto append = [&](const std::string& line) {
    curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) return;
    static_cast<void>(headers_.release());
    headers_.reset(longer);
  };
  for (const auto& [name, value] : request_.headers.all()) {
    if (name.empty() || has_line_break(name) || has_line_break(value) ||
        name.find(':') != std::string::npos) {
      return fail(ErrorCode::kInvalidArgument,
                  "the request header '" + printable(name) + "' has characters not allowed there");
    }
    const std::string key = lower(name);
    if (key == "content-length" || key == "transfer-encoding") continue;  // curl's own business
    has_type = has_type || key == "content-type";
    append(value.empty() ? name + ";" : name + ": " + value);
  }
  // curl would call every POST a form, and would wait for "100 Continue" before bodies so small
  // that sending them costs less than asking.
  if (!has_type) append("Content-Type:");
  const auto size =
      request_.body_source ? static_cast<std::size_t>(request_.body_length) : request_.body.size();
  if (size < (1U << 20)) append("Expect:");
  curl_easy_setopt(easy_.get(), CURLOPT_HTTPHEADER, headers_.get());
  return {};
}

Result<CURLcode> CurlTransfer::drive(CURLM* multi) {
  for (;;) {
    int running = 0;
    if (curl_multi_perform(multi, &running) != CURLM_OK) {
      return fail(ErrorCode::kInternal, "curl failed to go on");
    }
    if (running == 0) break;
    TRY_VOID(check_limits());
    auto wait = kLook;
    const auto until = [&](TimePoint start, milliseconds limit) {
      if (limit.count() <= 0) return;
      const auto left = std::chrono::ceil<milliseconds>(start + limit - Clock::now());
      wait = std::clamp(left, milliseconds(1), wait);
    };
    until(started_, request_.deadline);
    until(moved_, request_.stall_timeout);
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(wait.count()), nullptr);
  }
  int left = 0;
  const CURLMsg* message = curl_multi_info_read(multi, &left);
  if (message == nullptr) return fail(ErrorCode::kInternal, "curl lost a request");
  return message->data.result;
}

Status CurlTransfer::check_limits() {
  if (request_.canceled && request_.canceled()) {
    return fail(ErrorCode::kCanceled, "the request was canceled");
  }
  const TimePoint now = Clock::now();
  if (request_.deadline.count() > 0 && now - started_ >= request_.deadline) {
    return fail(ErrorCode::kDeadlineExceeded,
                fmt::format("{} took longer than {} ms", what_, request_.deadline.count()));
  }
  if (request_.stall_timeout.count() > 0 && now - moved_ >= request_.stall_timeout) {
    return fail(ErrorCode::kDeadlineExceeded, fmt::format("{}: nothing came or went for {} ms",
                                                          what_, request_.stall_timeout.count()));
  }
  return {};
}

Error CurlTransfer::error_of(CURLcode code) {
  if (error_) return *error_;
  const char* text = message_[0] != '\0' ? message_.data() : curl_easy_strerror(code);
  return Error{meaning_of(code), fmt::format("{}: {}", what_, text)};
}

std::size_t CurlTransfer::take_response(std::span<const std::byte> bytes) {
  moved_ = Clock::now();
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (request_.sink && status >= 200 && status < 300) {
    Status taken = show_head(static_cast<int>(status));
    if (taken) taken = request_.sink(bytes);
    moved_ = Clock::now();  // the time that the sink took is not the server's
    if (!taken) return abort_with(std::move(taken.error()), std::size_t{0});
    return bytes.size();
  }
  const auto limit =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, request_.max_response_bytes));
  if (response_.body.size() + bytes.size() > limit) {
    return abort_with(Error{ErrorCode::kTooLarge,
                            fmt::format("the response to {} is over {} bytes", what_, limit)},
                      std::size_t{0});
  }
  if (response_.body.empty()) reserve_body(limit);
  response_.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return bytes.size();
}

Status CurlTransfer::show_head(int status) {
  if (head_shown_ || !request_.before_sink) return {};
  head_shown_ = true;
  response_.status = status;
  return request_.before_sink(response_);
}

// A body of known length is not copied again and again while it grows.
void CurlTransfer::reserve_body(std::uint64_t limit) {
  curl_off_t length = -1;
  curl_easy_getinfo(easy_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  if (length > 0) response_.body.reserve(std::min<std::uint64_t>(limit, length));
}

std::size_t CurlTransfer::take_header(std::string_view line) {
  moved_ = Clock::now();
  const std::size_t size = line.size();
  // A final response may follow interim ones (100); only its own fields count.
  if (line.starts_with("HTTP/")) {
    response_.headers = Headers();
    header_complete_ = false;
  }
  if (line == "\r\n" || line == "\n") header_complete_ = true;
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n'))
    line.remove_suffix(1);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || line.starts_with("HTTP/")) return size;
  std::string_view value = line.substr(colon + 1);
  while (value.starts_with(' ') || value.starts_with('\t'))
    value.remove_prefix(1);
  while (value.ends_with(' ') || value.ends_with('\t'))
    value.remove_suffix(1);
  response_.headers.add(std::string(line.substr(0, colon)), std::string(value));
  return size;
}

std::size_t CurlTransfer::give_body(std::span<std::byte> out) {
  moved_ = Clock::now();
  if (body_left_ == 0) return 0;
  const auto limit = std::min<std::uint64_t>(out.size(), static_cast<std::uint64_t>(body_left_));
  Result<std::size_t> n = request_.body_source(out.first(limit));
  moved_ = Clock::now();
  if (!n) return abort_with(std::move(n.error()), std::size_t{CURL_READFUNC_ABORT});
  if (*n == 0 || *n > limit) {
    return abort_with(Error{ErrorCode::kInternal, "a request body is shorter than its length says"},
                      std::size_t{CURL_READFUNC_ABORT});
  }
  body_left_ -= static_cast<std::int64_t>(*n);
  return *n;
}

// curl sends a request a second time by itself when a kept connection turns out to be dead. The
// server may have acted on the first, so that is for the caller to decide.
bool CurlTransfer::begin_attempt() {
  if (++attempts_ == 1) return true;
  return abort_with(Error{ErrorCode::kUnavailable,
                          fmt::format("{}: the connection was closed before the response", what_)},
                    false);
}

}  // namespace loam::net
