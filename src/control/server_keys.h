// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/random.h"
#include "base/result.h"

namespace loam::control {

// The server's own secrets: one key, in a file of mode 0600 or, where several servers share a
// database, as shared_keys.h says.
class ServerKeys {
 public:
  // Reads the file, or makes it at first start.
  static Result<ServerKeys> load_or_create(const std::string& path, Random& random);

  // From the text of such a file; `where` is for the message.
  static Result<ServerKeys> parse(std::string text, const std::string& where);

  // The file's text.
  const std::string& text() const { return master_; }
  // Tells keys apart without giving them away.
  std::string fingerprint() const;

  // AES-256-GCM; the text form is base 64 of nonce, ciphertext and tag. `context` is authenticated,
  // so that a sealed value cannot be moved to another place in the database.
  Result<std::string> seal(Random& random, const std::string& plain,
                           const std::string& context) const;
  Result<std::string> unseal(const std::string& sealed, const std::string& context) const;

  // The lease token of a claim: 128 bits of HMAC-SHA-256 over node and claim, so that repeating a
  // claim whose answer was lost yields the same token without its being stored.
  std::string lease_token(const std::string& node, const std::string& claim) const;

 private:
  explicit ServerKeys(std::string master) : master_(std::move(master)) {}
  std::string derived(const std::string& purpose) const;  // 32 bytes

  std::string master_;
};

}  // namespace loam::control
