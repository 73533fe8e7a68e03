// SPDX-License-Identifier: Apache-2.0
#include "object/sigv4.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/check.h"
#include "base/digest.h"
#include "base/encoding.h"

namespace loam::object {

namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kService = "s3";

std::string hmac(std::string_view key, std::string_view text) {
  std::array<char, 32> digest{};
  unsigned length = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(),
             reinterpret_cast<unsigned char*>(digest.data()), &length) != nullptr);
  CHECK(length == digest.size());
  return {digest.data(), digest.size()};
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Trimmed, and runs of white space are one space.
std::string canonical_value(std::string_view value) {
  std::string out;
  bool gap = false;
  for (const char c : value) {
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      gap = !out.empty();
      continue;
    }
    if (gap) out += ' ';
    gap = false;
    out += c;
  }
  return out;
}

std::string timestamp(std::int64_t wall_ms) {
  const auto seconds = static_cast<std::time_t>(wall_ms / 1000);
  std::tm parts{};
  CHECK(gmtime_r(&seconds, &parts) != nullptr);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

struct CanonicalHeaders {
  std::string names;  // "host;x-amz-date"
  std::string lines;  // "host:example.org\n…"
};

CanonicalHeaders canonical_headers(const NameValues& headers) {
  NameValues sorted;
  for (const auto& [name, value] : headers)
    sorted.emplace_back(lower(name), canonical_value(value));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  CanonicalHeaders out;
  std::string last;
  for (const auto& [name, value] : sorted) {
    if (name == last) {  // a repeated header is one line
      out.lines.pop_back();
      out.lines += "," + value + "\n";
      continue;
    }
    last = name;
    out.names += (out.names.empty() ? "" : ";") + name;
    out.lines += name + ":" + value + "\n";
  }
  return out;
}

std::string canonical_query(const NameValues& query) {
  NameValues encoded;
  for (const auto& [name, value] : query)
    encoded.emplace_back(percent_encode(name, false), percent_encode(value, false));
  std::sort(encoded.begin(), encoded.end());
  std::string out;
  for (const auto& [name, value] : encoded)
    out += (out.empty() ? "" : "&") + name + "=" + value;
  return out;
}

struct Scope {
  std::string time;
  std::string text;  // "20261130/us-east-1/s3/aws4_request"

  Scope(const SigningContext& context)
      : time(timestamp(context.wall_ms)),
        text(fmt::format("{}/{}/{}/aws4_request", time.substr(0, 8), context.region, kService)) {}
};

std::string signature(const SigningContext& context, const Scope& scope,
                      std::string_view canonical_request) {
  std::string key = hmac("AWS4" + context.keys.secret, scope.time.substr(0, 8));
  key = hmac(key, context.region);
  key = hmac(key, kService);
  key = hmac(key, "aws4_request");
  return hmac_sha256_hex(key, fmt::format("{}\n{}\n{}\n{}", kAlgorithm, scope.time, scope.text,
                                          sha256_hex(canonical_request)));
}

std::string canonical_request(const SigningRequest& request, const NameValues& query,
                              const CanonicalHeaders& headers, std::string_view payload_hash) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, encode_path(request.path),
                     canonical_query(query), headers.lines, headers.names, payload_hash);
}

}  // namespace

std::string encode_path(std::string_view path) {
  return percent_encode(path, true);
}

std::string encode_query(const NameValues& query) {
  std::string out;
  for (const auto& [name, value] : query) {
    if (!out.empty()) out += '&';
    out += percent_encode(name, false) + "=" + percent_encode(value, false);
  }
  return out;
}

NameValues sign(const SigningRequest& request, const SigningContext& context) {
  const Scope scope(context);
  NameValues headers = request.headers;
  headers.emplace_back("x-amz-content-sha256", request.payload_hash);
  headers.emplace_back("x-amz-date", scope.time);
  if (!context.keys.session_token.empty()) {
    headers.emplace_back("x-amz-security-token", context.keys.session_token);
  }
  NameValues to_sign = headers;
  to_sign.emplace_back("host", request.host);
  const CanonicalHeaders canonical = canonical_headers(to_sign);
  const std::string signed_with = signature(
      context, scope, canonical_request(request, request.query, canonical, request.payload_hash));
  headers.emplace_back(
      "Authorization",
      fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm,
                  context.keys.id, scope.text, canonical.names, signed_with));
  return headers;
}

std::string presign(const SigningRequest& request, const SigningContext& context,
                    std::chrono::seconds valid) {
  const Scope scope(context);
  NameValues to_sign = request.headers;
  to_sign.emplace_back("host", request.host);
  const CanonicalHeaders canonical = canonical_headers(to_sign);
  NameValues query = request.query;
  query.emplace_back("X-Amz-Algorithm", kAlgorithm);
  query.emplace_back("X-Amz-Credential", context.keys.id + "/" + scope.text);
  query.emplace_back("X-Amz-Date", scope.time);
  query.emplace_back("X-Amz-Expires", std::to_string(valid.count()));
  query.emplace_back("X-Amz-SignedHeaders", canonical.names);
  if (!context.keys.session_token.empty()) {
    query.emplace_back("X-Amz-Security-Token", context.keys.session_token);
  }
  query.emplace_back(
      "X-Amz-Signature",
      signature(context, scope, canonical_request(request, query, canonical, kUnsignedPayload)));
  return encode_query(query);
}

}  // namespace loam::object
