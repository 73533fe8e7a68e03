// SPDX-License-Identifier: Apache-2.0
#include "jobs/duty.h"

namespace loam::jobs {

Result<bool> take_duty(Operation& op, const std::string& duty, const std::string& server) {
  const std::int64_t changed = TRY(op.session.exec(
      "INSERT INTO duty (name, holder, until_lc) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
      "holder = excluded.holder, until_lc = excluded.until_lc WHERE duty.holder = excluded.holder "
      "OR duty.until_lc < ?",
      duty, server, op.lease_ms + kDutyMs, op.lease_ms));
  return changed == 1;
}

Result<std::vector<std::string>> keep_duties(Operation& op, const std::string& server) {
  std::vector<std::string> out;
  for (const db::Row& row : TRY(op.session.rows(
           "UPDATE duty SET until_lc = ? WHERE holder = ? AND until_lc >= ? RETURNING name",
           op.lease_ms + kDutyMs, server, op.lease_ms))) {
    out.push_back(row.text(0));
  }
  return out;
}

Status leave_duties(Operation& op, const std::string& server) {
  TRY(op.session.exec("DELETE FROM duty WHERE holder = ?", server));
  return {};
}

}  // namespace loam::jobs
