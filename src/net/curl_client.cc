// SPDX-License-Identifier: Apache-2.0
#include <curl/curl.h>

#include <csignal>

#include "base/check.h"
#include "net/curl_pool.h"
#include "net/curl_transfer.h"
#include "net/http_client.h"

namespace loam::net {

namespace {

// "http://host:port" of a URL, as the key of kept connections.
std::string origin_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string(url);
  return std::string(url.substr(0, url.find_first_of("/?#", scheme + 3)));
}

// Once per process. OpenSSL writes to sockets without MSG_NOSIGNAL, so a broken TLS connection
// would end a process that has not said what it wants of SIGPIPE.
void global_init() {
  static const bool done = [] {
    CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    struct sigaction current {};
    if (sigaction(SIGPIPE, nullptr, &current) == 0 && current.sa_handler == SIG_DFL) {
      std::signal(SIGPIPE, SIG_IGN);
    }
    return true;
  }();
  static_cast<void>(done);
}

class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(std::string ca_file) : ca_file_(std::move(ca_file)) {}

  Result<HttpResponse> send(const ClientRequest& request) override {
    const std::string origin = origin_of(request.url);
    CurlMultiPtr multi = pool_.take(origin);
    if (!multi) return fail(ErrorCode::kInternal, "curl could not be initialised");
    CurlTransfer transfer(request, request.ca_file.empty() ? ca_file_ : request.ca_file);
    Result<HttpResponse> response = transfer.run(multi.get());
    pool_.give_back(origin, std::move(multi));
    return response;
  }

 private:
  const std::string ca_file_;
  CurlPool pool_;
};

}  // namespace

std::unique_ptr<HttpClient> make_curl_client(std::string ca_file) {
  global_init();
  return std::make_unique<CurlClient>(std::move(ca_file));
}

std::string join_url(std::string_view base, std::string_view path) {
  while (base.ends_with('/'))
    base.remove_suffix(1);
  std::string out(base);
  if (!path.starts_with('/')) out += '/';
  out += path;
  return out;
}

}  // namespace loam::net
