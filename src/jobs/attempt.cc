// SPDX-License-Identifier: Apache-2.0
#include "jobs/attempt.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/digest.h"
#include "jobs/exposure.h"
#include "jobs/ledger.h"

namespace loam::jobs {

Result<Lease> check_lease(Operation& op, const LeaseRef& ref, bool allow_expired) {
  const auto row = TRY(op.session.row(
      "SELECT l.epoch, l.token_hash, l.node_id, l.slot, l.state, j.owner, a.prefix FROM lease l "
      "JOIN job j ON j.id = l.job_id JOIN attempt a ON a.job_id = l.job_id AND a.epoch = l.epoch "
      "WHERE l.job_id = ?",
      ref.job));
  const auto lost = [&](std::string_view why) {
    return fail(ErrorCode::kLeaseLost, fmt::format("the lease of {} at epoch {} is not yours: {}",
                                                   ref.job, ref.epoch, why));
  };
  if (!row) return lost("the job has no lease now");
  if (row->integer(0) != ref.epoch) return lost("it was given to another");
  if (!constant_time_equal(row->text(1), sha256_hex(ref.token))) return lost("wrong token");
  if (row->text(2) != ref.node) return lost("it belongs to another node");
  if (row->text(4) == "expired" && !allow_expired) {
    return fail(
        ErrorCode::kConflict,
        fmt::format("the lease of {} at epoch {} has expired; renew it first", ref.job, ref.epoch));
  }
  return Lease{ref.job,      ref.epoch,    row->text(2), row->integer(3),
               row->text(4), row->text(5), row->text(6)};
}

Status end_attempt(Operation& op, const std::string& job, std::int64_t epoch,
                   const AttemptEnd& end) {
  const std::int64_t changed = TRY(op.session.exec(
      "UPDATE attempt SET state = ?, cause = ?, exit_code = ?, signal = ?, message = ?, "
      "ended_at = ?, ended_lc = ? WHERE job_id = ? AND epoch = ? AND state = 'running'",
      end.state, end.cause, end.exit_code, end.signal, end.message.substr(0, 2'000), op.wall_ms,
      op.lease_ms, job, epoch));
  CHECK(changed == 1);
  TRY(op.session.exec("DELETE FROM lease WHERE job_id = ? AND epoch = ?", job, epoch));
  TRY(
      op.session.exec("UPDATE owner_load SET running = running - 1 WHERE owner = "
                      "(SELECT owner FROM job WHERE id = ?)",
                      job));
  TRY_VOID(record_exposure(op, job, epoch));
  return settle_attempt(op, job, epoch, end.state == "succeeded");
}

Result<bool> already_ended(Operation& op, const LeaseRef& ref, std::string_view state) {
  const auto row = TRY(op.session.row(
      "SELECT token_hash, state, node_id FROM attempt WHERE job_id = ? AND epoch = ?", ref.job,
      ref.epoch));
  return row && constant_time_equal(row->text(0), sha256_hex(ref.token)) && row->text(1) == state &&
         row->text(2) == ref.node;
}

}  // namespace loam::jobs
