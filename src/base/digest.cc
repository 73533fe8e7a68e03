// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/check.h"
#include "base/encoding.h"

namespace loam {

struct Sha256::Context {
  EVP_MD_CTX* md = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(md); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  CHECK(EVP_DigestInit_ex(context_->md, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  CHECK(EVP_DigestUpdate(context_->md, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish_hex() {
  std::array<std::byte, 32> digest{};
  unsigned length = 0;
  CHECK(EVP_DigestFinal_ex(context_->md, reinterpret_cast<unsigned char*>(digest.data()),
                           &length) == 1);
  CHECK(length == digest.size());
  return hex_encode(digest);
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(bytes)));
  return hash.finish_hex();
}

std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) {
  std::array<std::byte, 32> digest{};
  unsigned length = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
             reinterpret_cast<unsigned char*>(digest.data()), &length) != nullptr);
  return hex_encode(digest);
}

bool constant_time_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace loam
