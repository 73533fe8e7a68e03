// SPDX-License-Identifier: Apache-2.0
#include "jobs/setting.h"

namespace loam::jobs {

Result<std::optional<std::string>> setting(db::Session& session, const std::string& name) {
  const auto row = TRY(session.row("SELECT value FROM setting WHERE name = ?", name));
  if (!row) return std::optional<std::string>();
  return std::optional<std::string>(row->text(0));
}

Status set_setting(Operation& op, const std::string& name, const std::string& value) {
  TRY(
      op.session.exec("INSERT INTO setting (name, value) VALUES (?, ?) "
                      "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                      name, value));
  return {};
}

Status remove_setting(Operation& op, const std::string& name) {
  TRY(op.session.exec("DELETE FROM setting WHERE name = ?", name));
  return {};
}

}  // namespace loam::jobs
