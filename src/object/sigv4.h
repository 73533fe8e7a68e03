// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loam::object {

// AWS Signature Version 4 as S3 wants it: the path is percent-encoded once and never normalised, so
// that "a//b", "a/../b" and bytes that are not UTF-8 keep their meaning. Pure functions; the tests
// compare them with botocore on generated requests.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html

struct AccessKeys {
  std::string id;
  std::string secret;
  std::string session_token;  // empty for long-lived keys
  bool operator==(const AccessKeys&) const = default;
};

using NameValues = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";

// All in plain bytes; encoding is the signer's business.
struct SigningRequest {
  std::string method = "GET";
  std::string host;  // as the Host header will have it, with a port that is not the scheme's own
  std::string path;  // "/bucket/key"
  NameValues query;
  NameValues headers;        // those to sign beside host and x-amz-*; names in any case
  std::string payload_hash;  // SHA-256 in hex, or kUnsignedPayload; ignored by presign()
};

struct SigningContext {
  AccessKeys keys;
  std::string region = "us-east-1";
  std::int64_t wall_ms = 0;  // the server's clock, as far as it is known
};

// The headers to send, `request.headers` included: x-amz-date, x-amz-content-sha256,
// x-amz-security-token where there is one, and Authorization.
NameValues sign(const SigningRequest& request, const SigningContext& context);

// The encoded query of a URL that needs no credentials for `valid`. Whoever uses it must send
// `request.headers` exactly.
std::string presign(const SigningRequest& request, const SigningContext& context,
                    std::chrono::seconds valid);

std::string encode_path(std::string_view path);
// Encoded and joined, in the order given; as it goes into a URL.
std::string encode_query(const NameValues& query);

}  // namespace loam::object
