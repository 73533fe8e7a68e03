// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "jobs/operation.h"

namespace loam::jobs {

enum class TokenKind { kAdmin, kUser, kPool, kNode };
std::string_view token_kind_name(TokenKind kind);
std::optional<TokenKind> parse_token_kind(std::string_view name);

// A right to a path prefix of the store: "/users/ann" covers itself and what lies below it.
struct Grant {
  std::string prefix;
  bool write = false;
};

// Who makes a call.
struct Principal {
  TokenKind kind = TokenKind::kUser;
  std::string owner;  // admin and user
  std::string pool;   // pool and node
  std::string node;   // node
  std::vector<Grant> grants;

  bool is_admin() const { return kind == TokenKind::kAdmin; }
  bool may_read(std::string_view path) const;
  bool may_write(std::string_view path) const;
};

// What a user has unless the admin says otherwise: its own /users/<owner>, and reading /datasets.
std::vector<Grant> default_grants(const std::string& owner);

struct NewToken {
  TokenKind kind = TokenKind::kUser;
  std::string owner;
  std::string pool;
  std::string node;
  std::vector<Grant> grants;
};

// Stores the hash of `secret` (or of a fresh one) and returns {id, secret}. The secret is never
// stored and cannot be shown again.
struct IssuedToken {
  std::string id;
  std::string secret;
};
Result<IssuedToken> issue_token(Operation& op, const NewToken& token, std::string secret = "");

// kUnauthenticated for a token nobody issued, or one that was revoked.
Result<Principal> authenticate(db::Session& session, const std::string& secret);

// The live tokens of an owner, for checking rights when no token was shown.
Result<std::vector<Principal>> principals_of(db::Session& session, const std::string& owner);

Result<std::vector<Json>> list_tokens(db::Session& session);
Status revoke_token(Operation& op, const std::string& id);
Result<bool> has_admin(db::Session& session);

}  // namespace loam::jobs
