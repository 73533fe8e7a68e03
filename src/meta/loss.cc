// SPDX-License-Identifier: Apache-2.0
#include "meta/loss.h"

#include "meta/content.h"
#include "meta/object.h"

namespace loam::meta {

Result<std::int64_t> lose_node(Operation& op, const std::string& node, std::int64_t limit) {
  const auto rows =
      TRY(op.session.rows("SELECT h.object, o.inode FROM holder h JOIN object o ON o.number = "
                          "h.object WHERE h.node = ? ORDER BY h.object LIMIT ?",
                          node, limit));
  for (const db::Row& row : rows) {
    TRY(op.session.exec("DELETE FROM holder WHERE object = ? AND node = ?", row.integer(0), node));
    // An earlier one of these rows may have retired the object.
    const auto staged =
        TRY(op.session.row("SELECT 1 FROM object WHERE number = ? AND state = 2", row.integer(0)));
    if (!staged || !TRY(holders_of(op.session, row.integer(0))).empty()) continue;
    TRY(roll_back(op, row.integer(1), row.integer(0), node));
  }
  return static_cast<std::int64_t>(rows.size());
}

Result<std::vector<Loss>> list_losses(db::Session& session, std::int64_t after,
                                      std::int64_t limit) {
  std::vector<Loss> out;
  for (const db::Row& row : TRY(session.rows(
           "SELECT id, inode, generation, restored, bytes, node, at_ns FROM loss WHERE "
           "id > ? ORDER BY id LIMIT ?",
           after, limit))) {
    out.push_back({row.integer(0), row.integer(1), row.integer(2), row.opt_integer(3),
                   row.integer(4), row.text(5), row.integer(6)});
  }
  return out;
}

}  // namespace loam::meta
