// SPDX-License-Identifier: Apache-2.0
#include "meta/numbers.h"

#include "base/check.h"

namespace loam::meta {

Result<Numbers> take_numbers(Operation& op, const Numbers& wanted) {
  const auto row = TRY(op.session.row(
      "UPDATE namespace SET inode = inode + ?, dentry = dentry + ?, object = object + ?, "
      "change = change + ? WHERE id = 1 RETURNING inode, dentry, object, change",
      wanted.inode, wanted.dentry, wanted.object, wanted.change));
  CHECK(row.has_value());
  return Numbers{.inode = row->integer(0) - wanted.inode + 1,
                 .dentry = row->integer(1) - wanted.dentry + 1,
                 .object = row->integer(2) - wanted.object + 1,
                 .change = row->integer(3) - wanted.change + 1};
}

Result<std::int64_t> last_change(db::Session& session) {
  const auto row = TRY(session.row("SELECT change FROM namespace WHERE id = 1"));
  CHECK(row.has_value());
  return row->integer(0);
}

}  // namespace loam::meta
