// SPDX-License-Identifier: Apache-2.0
#include "net/server_list.h"

#include "base/log.h"

namespace loam::net {

namespace {

std::vector<std::string> split(std::string_view urls) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t comma = urls.find(',');
    std::string_view url = urls.substr(0, comma);
    while (url.starts_with(' '))
      url.remove_prefix(1);
    while (url.ends_with(' ') || url.ends_with('/'))
      url.remove_suffix(1);
    if (!url.empty()) out.emplace_back(url);
    if (comma == std::string_view::npos) break;
    urls.remove_prefix(comma + 1);
  }
  // Without any, calls fail for want of a host, as with one that is wrong.
  if (out.empty()) out.emplace_back();
  return out;
}

}  // namespace

ServerList::ServerList(std::string_view urls) : urls_(split(urls)) {}

std::string ServerList::current() const {
  const std::lock_guard lock(mutex_);
  return urls_[current_];
}

void ServerList::failed(const std::string& url) {
  const std::lock_guard lock(mutex_);
  if (urls_.size() == 1 || urls_[current_] != url) return;
  current_ = (current_ + 1) % urls_.size();
  LOG_INFO("{} does not answer; going on with {}", url, urls_[current_]);
}

bool ServerList::worth_moving(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kDeadlineExceeded;
}

}  // namespace loam::net
