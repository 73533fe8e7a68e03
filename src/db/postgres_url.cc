// SPDX-License-Identifier: Apache-2.0
#include "db/postgres_url.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace loam::db {

namespace {

struct Span {
  std::size_t begin = 0;
  std::size_t size = 0;
};

// Where the passwords are, in order.
std::vector<Span> passwords(std::string_view url) {
  std::vector<Span> out;
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return out;
  const std::size_t begin = scheme + 3;
  const std::size_t query = std::min(url.find('?', begin), url.size());
  // A password may hold a '/' that was not encoded as it should be, so the last '@' counts.
  const std::size_t at = url.substr(0, query).rfind('@');
  if (at != std::string_view::npos && at >= begin) {
    const std::size_t colon = url.find(':', begin);
    if (colon < at) out.push_back({colon + 1, at - colon - 1});
  }
  for (std::size_t from = query; from < url.size();) {
    const std::size_t end = std::min(url.find('&', from + 1), url.size());
    const std::size_t equals = url.find('=', from);
    if (equals < end && url.substr(from + 1, equals - from - 1).ends_with("password")) {
      out.push_back({equals + 1, end - equals - 1});
    }
    from = end;
  }
  std::erase_if(out, [](const Span& span) { return span.size == 0; });
  return out;
}

}  // namespace

bool is_postgres_url(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

std::string redacted_url(std::string_view url) {
  std::string out;
  std::size_t from = 0;
  for (const Span& span : passwords(url)) {
    out += url.substr(from, span.begin - from);
    out += "***";
    from = span.begin + span.size;
  }
  out += url.substr(from);
  return out;
}

std::string redacted_text(std::string text, std::string_view url) {
  for (const Span& span : passwords(url)) {
    const std::string_view secret = url.substr(span.begin, span.size);
    for (std::size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + 3)) {
      text.replace(at, secret.size(), "***");
    }
  }
  return text;
}

void blot_passwords(char* url) {
  for (const Span& span : passwords({url, std::strlen(url)}))
    std::memset(url + span.begin, '*', span.size);
}

}  // namespace loam::db
