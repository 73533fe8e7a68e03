// SPDX-License-Identifier: Apache-2.0
#include "jobs/idempotency.h"

#include <fmt/format.h>

namespace loam::jobs {

Result<std::optional<std::string>> earlier_answer(Operation& op, const IdempotencyKey& key) {
  const auto row = TRY(op.session.row(
      "SELECT body_sha256, answer FROM idempotency WHERE owner = ? AND route = ? AND key = ?",
      key.owner, key.route, key.key));
  if (!row) return std::optional<std::string>();
  if (row->text(0) != key.body_sha256) {
    return fail(
        ErrorCode::kUnprocessable,
        fmt::format("the Idempotency-Key '{}' was used with another body; use a new key for "
                    "a new request",
                    key.key.substr(0, 80)));
  }
  return std::optional<std::string>(row->text(1));
}

Status remember_answer(Operation& op, const IdempotencyKey& key, const std::string& answer) {
  TRY(op.session.exec(
      "INSERT INTO idempotency (owner, route, key, body_sha256, answer, created_lc) "
      "VALUES (?, ?, ?, ?, ?, ?)",
      key.owner, key.route, key.key, key.body_sha256, answer, op.lease_ms));
  return {};
}

Status forget_old_answers(Operation& op) {
  TRY(op.session.exec("DELETE FROM idempotency WHERE created_lc < ?",
                      op.lease_ms - kIdempotencyKeptMs));
  return {};
}

}  // namespace loam::jobs
