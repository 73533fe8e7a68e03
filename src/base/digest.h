// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace loam {

// SHA-256 (FIPS 180-4) over bytes that arrive in pieces. Not for concurrent use.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);
  // 64 lower-case hexadecimal digits; the object is done with afterwards.
  std::string finish_hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_hex(std::string_view bytes);
// HMAC-SHA-256 (RFC 2104) as lower-case hexadecimal.
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);
// Compares without revealing by its timing where two secrets differ.
bool constant_time_equal(std::string_view a, std::string_view b);

}  // namespace loam
