// SPDX-License-Identifier: Apache-2.0
#include "object/s3_retry.h"

#include <algorithm>
#include <array>

namespace loam::object {

namespace {

constexpr std::int64_t kBaseMs = 50;
constexpr std::int64_t kSlowerBaseMs = 200;
constexpr std::int64_t kCapMs = 5'000;

template <std::size_t n>
bool any_of(const std::array<std::string_view, n>& codes, std::string_view code) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

}  // namespace

Verdict verdict_of(int status, std::string_view code) {
  static constexpr std::array<std::string_view, 5> kSlow = {
      "SlowDown", "TooManyRequests", "Throttling", "ThrottlingException", "RequestLimitExceeded"};
  static constexpr std::array<std::string_view, 6> kPassing = {
      "InternalError",    "ServiceUnavailable",         "RequestTimeout",
      "OperationAborted", "ConditionalRequestConflict", "BadDigest"};
  static constexpr std::array<std::string_view, 4> kStale = {
      "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken"};
  if (code == "RequestTimeTooSkewed") return Verdict::kClock;
  if (any_of(kStale, code) || code == "InvalidAccessKeyId") return Verdict::kCredentials;
  if (code == "AuthorizationHeaderMalformed" || code == "PermanentRedirect" ||
      code == "IllegalLocationConstraintException" || status == 301 || status == 307) {
    return Verdict::kRegion;
  }
  if (any_of(kSlow, code) || status == 429 || status == 503) return Verdict::kSlower;
  if (any_of(kPassing, code) || status == 408) return Verdict::kAgain;
  // 501 is a feature that is not there; the others pass.
  if (status >= 500 && status != 501) return Verdict::kAgain;
  return Verdict::kFinal;
}

std::chrono::milliseconds back_off(int number, bool slower, Random& random) {
  const std::int64_t base = slower ? kSlowerBaseMs : kBaseMs;
  const std::int64_t most = std::min(kCapMs, base << std::clamp(number, 0, 16));
  return std::chrono::milliseconds(1 + random.below(static_cast<std::uint64_t>(most)));
}

}  // namespace loam::object
