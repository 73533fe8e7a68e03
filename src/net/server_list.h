// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace loam::net {

// The base URLs of servers of which any will do, as "URL1,URL2". All callers use the same one until
// it fails; then the next, and after the last the first again. Any thread.
class ServerList {
 public:
  explicit ServerList(std::string_view urls);

  std::string current() const;
  // A call to `url` got no answer, or one that another server may better. Moves on, unless somebody
  // has already done so.
  void failed(const std::string& url);
  // Whether an error is a reason to ask another server: it did not answer, or cannot now.
  static bool worth_moving(const Error& error);
  std::size_t size() const { return urls_.size(); }

 private:
  const std::vector<std::string> urls_;
  mutable std::mutex mutex_;
  std::size_t current_ = 0;
};

}  // namespace loam::net
