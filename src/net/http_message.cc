// SPDX-License-Identifier: Apache-2.0
#include "net/http_message.h"

#include <algorithm>

namespace loam::net {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

void Headers::add(std::string name, std::string value) {
  all_.emplace_back(std::move(name), std::move(value));
}

void Headers::set(std::string_view name, std::string value) {
  const auto matches = [&](const auto& header) { return same_name(header.first, name); };
  const auto first = std::find_if(all_.begin(), all_.end(), matches);
  if (first == all_.end()) {
    all_.emplace_back(std::string(name), std::move(value));
    return;
  }
  first->second = std::move(value);
  all_.erase(std::remove_if(first + 1, all_.end(), matches), all_.end());
}

std::optional<std::string> Headers::get(std::string_view name) const {
  for (const auto& [key, value] : all_) {
    if (same_name(key, name)) return value;
  }
  return std::nullopt;
}

std::optional<std::string> HttpRequest::query_value(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::optional<std::string> HttpRequest::bearer() const {
  constexpr std::string_view kScheme = "bearer ";
  const std::optional<std::string> header = headers.get("Authorization");
  if (!header || header->size() <= kScheme.size()) return std::nullopt;
  const std::string_view value = *header;
  if (!same_name(value.substr(0, kScheme.size()), kScheme)) return std::nullopt;
  const std::string_view rest = value.substr(kScheme.size());
  const std::size_t begin = rest.find_first_not_of(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = rest.find_last_not_of(' ');
  return std::string(rest.substr(begin, end - begin + 1));
}

}  // namespace loam::net
