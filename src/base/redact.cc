// SPDX-License-Identifier: Apache-2.0
#include "base/redact.h"

#include <algorithm>
#include <array>

namespace loam {

namespace {

constexpr std::string_view kHidden = "***";
constexpr std::string_view kScheme = "://";
// Ends a URL in a text.
constexpr std::string_view kUrlEnds = " \t\r\n'\"<>";
// Ends a value in a query, in a URL or in a text.
constexpr std::string_view kValueEnds = "& \t\r\n'\"<>;,)";
constexpr std::array<std::string_view, 2> kQueryValues{"x-amz-signature=", "x-amz-security-token="};
constexpr std::array<std::string_view, 4> kTokens{"loam_admin_", "loam_user_", "loam_pool_",
                                                  "loam_node_"};
// Of what follows the kind; names of other things that begin so are shorter.
constexpr std::size_t kLeastToken = 16;

bool is_token_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '_';
}

std::size_t length_until(std::string_view text, std::string_view ends) {
  return std::min(text.find_first_of(ends), text.size());
}

// How much of what follows "://" says who is asking: up to the last '@', for passwords are not
// always encoded as they should be. A '@' in a path or a key, behind a host, is none of that.
std::size_t credentials_length(std::string_view rest) {
  const std::string_view url = rest.substr(0, length_until(rest, kUrlEnds));
  const std::size_t at = url.rfind('@');
  if (at == std::string_view::npos) return 0;
  const std::string_view host = url.substr(0, url.find_first_of("/?#"));
  if (host.find('@') != std::string_view::npos) return at;
  const std::size_t colon = host.find(':');
  if (colon == std::string_view::npos) return 0;
  const std::string_view port = host.substr(colon + 1);
  const bool is_port =
      std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_port || host.starts_with('[') ? 0 : at;
}

void hide_url_credentials(std::string& text) {
  for (std::size_t from = text.find(kScheme); from != std::string::npos;
       from = text.find(kScheme, from + kScheme.size())) {
    std::size_t begin = from + kScheme.size();
    const std::size_t end = begin + credentials_length(std::string_view(text).substr(begin));
    // The name before a password helps to find the mistake; one without may be a token.
    if (const std::size_t colon = text.find(':', begin); colon < end) begin = colon + 1;
    if (begin < end) text.replace(begin, end - begin, kHidden);
  }
}

void hide_query_values(std::string& text) {
  const auto same = [](char a, char b) {
    return a == b || (a >= 'A' && a <= 'Z' && static_cast<char>(a - 'A' + 'a') == b);
  };
  for (const std::string_view name : kQueryValues) {
    for (auto at = text.begin();;) {
      at = std::search(at, text.end(), name.begin(), name.end(), same);
      if (at == text.end()) break;
      const auto begin = static_cast<std::size_t>(at - text.begin()) + name.size();
      text.replace(begin, length_until(std::string_view(text).substr(begin), kValueEnds), kHidden);
      at = text.begin() + static_cast<std::ptrdiff_t>(begin);
    }
  }
}

void hide_tokens(std::string& text) {
  for (const std::string_view kind : kTokens) {
    for (std::size_t at = text.find(kind); at != std::string::npos;
         at = text.find(kind, at + kind.size())) {
      const std::size_t begin = at + kind.size();
      std::size_t end = begin;
      while (end < text.size() && is_token_character(text[end]))
        ++end;
      if (end - begin >= kLeastToken) text.replace(begin, end - begin, kHidden);
    }
  }
}

}  // namespace

std::string redacted(std::string_view text) {
  std::string out(text);
  hide_url_credentials(out);
  hide_query_values(out);
  hide_tokens(out);
  return out;
}

}  // namespace loam
