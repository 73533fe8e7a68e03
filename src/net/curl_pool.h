// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace loam::net {

struct CurlMultiDelete {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct CurlEasyDelete {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct CurlListDelete {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlMultiPtr = std::unique_ptr<CURLM, CurlMultiDelete>;
using CurlEasyPtr = std::unique_ptr<CURL, CurlEasyDelete>;
using CurlListPtr = std::unique_ptr<curl_slist, CurlListDelete>;

// Idle connections between requests. curl keeps connections in a multi handle, which one thread may
// use at a time; so each request borrows one, preferring the last that talked to the same host.
// Any thread.
class CurlPool {
 public:
  // At most this many are kept; more may be in use.
  static constexpr std::size_t kMaxIdle = 64;

  CurlMultiPtr take(const std::string& origin);
  void give_back(const std::string& origin, CurlMultiPtr multi);

 private:
  struct Idle {
    std::string origin;
    CurlMultiPtr multi;
  };
  std::mutex mutex_;
  std::list<Idle> idle_;  // the most recently used at the back
};

}  // namespace loam::net
