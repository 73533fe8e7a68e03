// SPDX-License-Identifier: Apache-2.0
#include "jobs/token.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"
#include "base/digest.h"

namespace loam::jobs {

namespace {

constexpr std::array<std::pair<TokenKind, std::string_view>, 4> kKinds{
    {{TokenKind::kAdmin, "admin"},
     {TokenKind::kUser, "user"},
     {TokenKind::kPool, "pool"},
     {TokenKind::kNode, "node"}}};

// Whether `prefix` is `path` or one of its ancestors; a trailing '/' makes no difference.
bool covers(std::string_view prefix, std::string_view path) {
  while (prefix.ends_with('/'))
    prefix.remove_suffix(1);
  if (!path.starts_with(prefix)) return false;
  return path.size() == prefix.size() || path[prefix.size()] == '/';
}

Json grants_json(const std::vector<Grant>& grants) {
  Json out = Json::array();
  for (const Grant& grant : grants)
    out.push_back({{"prefix", grant.prefix}, {"write", grant.write}});
  return out;
}

}  // namespace

std::string_view token_kind_name(TokenKind kind) {
  for (const auto& [value, name] : kKinds) {
    if (value == kind) return name;
  }
  CHECK(false);
}

std::optional<TokenKind> parse_token_kind(std::string_view name) {
  for (const auto& [value, known] : kKinds) {
    if (known == name) return value;
  }
  return std::nullopt;
}

bool Principal::may_read(std::string_view path) const {
  if (is_admin()) return true;
  for (const Grant& grant : grants) {
    if (covers(grant.prefix, path)) return true;
  }
  return false;
}

bool Principal::may_write(std::string_view path) const {
  if (is_admin()) return true;
  for (const Grant& grant : grants) {
    if (grant.write && covers(grant.prefix, path)) return true;
  }
  return false;
}

std::vector<Grant> default_grants(const std::string& owner) {
  return {{"/users/" + owner, true}, {"/datasets", false}};
}

Result<IssuedToken> issue_token(Operation& op, const NewToken& token, std::string secret) {
  const std::string kind(token_kind_name(token.kind));
  if (secret.empty()) secret = fmt::format("loam_{}_{}", kind, random_token(op.random, 32));
  const std::string id = random_id(op.random, "t-");
  TRY(op.session.exec(
      "INSERT INTO token (hash, id, kind, owner, pool, node_id, grants, created_at, "
      "revoked) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)",
      sha256_hex(secret), id, kind, token.owner, token.pool, token.node,
      dump_json(grants_json(token.grants)), op.wall_ms));
  return IssuedToken{id, std::move(secret)};
}

namespace {

// From kind, owner, pool, node_id and grants.
Result<Principal> principal_from(const db::Row& row) {
  const auto kind = parse_token_kind(row.text(0));
  CHECK(kind.has_value());
  Principal out{*kind, row.text(1), row.text(2), row.text(3), {}};
  const Json grants = TRY(parse_json(row.text(4)));
  for (const Json& grant : grants) {
    out.grants.push_back(
        {TRY(json_string(grant, "prefix")), TRY(json_bool(grant, "write", false))});
  }
  return out;
}

}  // namespace

Result<Principal> authenticate(db::Session& session, const std::string& secret) {
  const auto row = TRY(
      session.row("SELECT kind, owner, pool, node_id, grants, revoked FROM token WHERE hash = ?",
                  sha256_hex(secret)));
  if (!row || row->boolean(5)) {
    return fail(ErrorCode::kUnauthenticated, "this token was not issued here, or was revoked");
  }
  return principal_from(*row);
}

Result<std::vector<Principal>> principals_of(db::Session& session, const std::string& owner) {
  std::vector<Principal> out;
  for (const db::Row& row : TRY(session.rows(
           "SELECT kind, owner, pool, node_id, grants FROM token WHERE owner = ? AND revoked = 0 "
           "AND kind IN ('admin', 'user')",
           owner))) {
    out.push_back(TRY(principal_from(row)));
  }
  return out;
}

Result<std::vector<Json>> list_tokens(db::Session& session) {
  std::vector<Json> out;
  for (const db::Row& row : TRY(session.rows(
           "SELECT id, kind, owner, pool, grants, created_at FROM token WHERE revoked = 0 AND "
           "kind <> 'node' ORDER BY created_at LIMIT 10000"))) {
    out.push_back({{"id", row.text(0)},
                   {"kind", row.text(1)},
                   {"owner", row.text(2)},
                   {"pool", row.text(3)},
                   {"grants", TRY(parse_json(row.text(4)))},
                   {"created", format_utc(row.integer(5))}});
  }
  return out;
}

Status revoke_token(Operation& op, const std::string& id) {
  const std::int64_t changed =
      TRY(op.session.exec("UPDATE token SET revoked = 1 WHERE id = ? AND revoked = 0", id));
  if (changed == 0) return fail(ErrorCode::kNotFound, fmt::format("no token {}", id));
  return {};
}

Result<bool> has_admin(db::Session& session) {
  return TRY(session.row("SELECT 1 FROM token WHERE kind = 'admin' AND revoked = 0 LIMIT 1"))
      .has_value();
}

}  // namespace loam::jobs
