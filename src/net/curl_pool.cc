// SPDX-License-Identifier: Apache-2.0
#include "net/curl_pool.h"

#include <algorithm>

namespace loam::net {

namespace {

// One request at a time needs one connection.
constexpr long kConnectionsPerMulti = 1;

}  // namespace

CurlMultiPtr CurlPool::take(const std::string& origin) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                    [&](const Idle& idle) { return idle.origin == origin; });
    if (found != idle_.rend()) {
      CurlMultiPtr multi = std::move(found->multi);
      idle_.erase(std::next(found).base());
      return multi;
    }
  }
  CurlMultiPtr multi(curl_multi_init());
  if (multi) curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, kConnectionsPerMulti);
  return multi;
}

void CurlPool::give_back(const std::string& origin, CurlMultiPtr multi) {
  CurlMultiPtr dropped;  // closed outside the lock
  const std::lock_guard lock(mutex_);
  idle_.push_back({origin, std::move(multi)});
  if (idle_.size() <= kMaxIdle) return;
  dropped = std::move(idle_.front().multi);
  idle_.pop_front();
}

}  // namespace loam::net
