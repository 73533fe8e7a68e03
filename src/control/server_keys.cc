// SPDX-License-Identifier: Apache-2.0
#include "control/server_keys.h"

#include <openssl/evp.h>

#include <array>
#include <memory>

#include "base/check.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "io/file.h"

namespace loam::control {

namespace {

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

struct ContextDeleter {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, ContextDeleter>;

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}
const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Result<ServerKeys> ServerKeys::parse(std::string text, const std::string& where) {
  while (text.ends_with('\n'))
    text.pop_back();
  if (text.size() != 64 || !hex_decode(text)) {
    return fail(ErrorCode::kDataCorrupt,
                where +
                    " is not a server key; restore it from a backup, or remove it and lose the "
                    "stored secrets and running leases");
  }
  return ServerKeys(std::move(text));
}

std::string ServerKeys::fingerprint() const {
  return hmac_sha256_hex(master_, "loam fingerprint v1");
}

Result<ServerKeys> ServerKeys::load_or_create(const std::string& path, Random& random) {
  auto existing = io::read_file(path, 4'096);
  if (existing) return parse(std::move(*existing), path);
  if (existing.error().code != ErrorCode::kNotFound) return fail(existing.error());
  const std::string master = random_token(random, 32);
  TRY_VOID(io::write_file_atomic(path, master + "\n", 0600));
  return ServerKeys(master);
}

std::string ServerKeys::derived(const std::string& purpose) const {
  const auto raw = hex_decode(hmac_sha256_hex(master_, "loam " + purpose + " v1"));
  CHECK(raw.has_value());
  return std::string(reinterpret_cast<const char*>(raw->data()), raw->size());
}

Result<std::string> ServerKeys::seal(Random& random, const std::string& plain,
                                     const std::string& context) const {
  std::string out(kNonceBytes + plain.size() + kTagBytes, '\0');
  random.fill(std::as_writable_bytes(std::span(out.data(), kNonceBytes)));
  const std::string key = derived("secrets");
  const CipherContext cipher(EVP_CIPHER_CTX_new());
  int length = 0;
  unsigned char* body = bytes_of(out) + kNonceBytes;
  const bool ok =
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key), bytes_of(out)) ==
          1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &length, bytes_of(context),
                        static_cast<int>(context.size())) == 1 &&
      EVP_EncryptUpdate(cipher.get(), body, &length, bytes_of(plain),
                        static_cast<int>(plain.size())) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), body + length, &length) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, body + plain.size()) == 1;
  if (!ok) return fail(ErrorCode::kInternal, "cannot encrypt a secret");
  return base64_encode(out);
}

Result<std::string> ServerKeys::unseal(const std::string& sealed,
                                       const std::string& context) const {
  const auto corrupt = [] {
    return fail(ErrorCode::kDataCorrupt,
                "a stored secret cannot be decrypted; was the server's key file replaced?");
  };
  std::string raw = TRY(base64_decode(sealed));
  if (raw.size() < kNonceBytes + kTagBytes) return corrupt();
  const std::size_t size = raw.size() - kNonceBytes - kTagBytes;
  const std::string key = derived("secrets");
  const CipherContext cipher(EVP_CIPHER_CTX_new());
  std::string plain(size, '\0');
  int length = 0;
  const bool ok = EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key),
                                     bytes_of(raw)) == 1 &&
                  EVP_DecryptUpdate(cipher.get(), nullptr, &length, bytes_of(context),
                                    static_cast<int>(context.size())) == 1 &&
                  EVP_DecryptUpdate(cipher.get(), bytes_of(plain), &length,
                                    bytes_of(raw) + kNonceBytes, static_cast<int>(size)) == 1 &&
                  EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes,
                                      bytes_of(raw) + kNonceBytes + size) == 1 &&
                  EVP_DecryptFinal_ex(cipher.get(), bytes_of(plain) + length, &length) == 1;
  if (!ok) return corrupt();
  return plain;
}

std::string ServerKeys::lease_token(const std::string& node, const std::string& claim) const {
  return hmac_sha256_hex(derived("lease"), node + "\n" + claim).substr(0, 32);
}

}  // namespace loam::control
