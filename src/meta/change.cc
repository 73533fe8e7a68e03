// SPDX-License-Identifier: Apache-2.0
#include "meta/change.h"

#include <algorithm>

#include "base/check.h"
#include "meta/numbers.h"

namespace loam::meta {

namespace {

constexpr std::int64_t kMaxChanges = 10'000;

Result<std::int64_t> first_change(db::Session& session) {
  const auto row = TRY(session.row("SELECT first_change FROM namespace WHERE id = 1"));
  CHECK(row.has_value());
  return row->integer(0);
}

}  // namespace

Status write_changes(Operation& op, std::int64_t first, std::initializer_list<Change> changes) {
  for (const Change& change : changes) {
    TRY(op.session.exec("INSERT INTO change (id, kind, inode, parent, name) VALUES (?, ?, ?, ?, ?)",
                        first++, static_cast<std::int64_t>(change.kind), change.inode,
                        change.place.parent, change.place.name));
  }
  return {};
}

Result<std::int64_t> log_change(Operation& op, ChangeKind kind, std::int64_t inode) {
  const std::int64_t id = TRY(take_numbers(op, {.change = 1})).change;
  TRY_VOID(write_changes(op, id, {{.kind = kind, .inode = inode}}));
  return id;
}

Result<Changes> read_changes(db::Session& session, std::int64_t position, std::int64_t limit) {
  const std::int64_t last = TRY(last_change(session));
  if (position > last || position + 1 < TRY(first_change(session))) {
    return Changes{.reset = true, .position = last};
  }
  Changes out{.position = position};
  for (const db::Row& row : TRY(session.rows(
           "SELECT id, kind, inode, parent, name FROM change WHERE id > ? ORDER BY id LIMIT ?",
           position, std::clamp<std::int64_t>(limit, 1, kMaxChanges)))) {
    out.position = row.integer(0);
    out.changes.push_back({row.integer(0),
                           static_cast<ChangeKind>(row.integer(1)),
                           row.integer(2),
                           {row.integer(3), row.text(4)}});
  }
  return out;
}

Result<std::int64_t> trim_changes(Operation& op, std::int64_t keep, std::int64_t limit) {
  const std::int64_t first = TRY(first_change(op.session));
  const std::int64_t wanted = TRY(last_change(op.session)) - keep + 1;
  const std::int64_t next = std::min(wanted, first + limit);
  if (next <= first) return 0;
  TRY(op.session.exec("UPDATE namespace SET first_change = ? WHERE id = 1", next));
  return op.session.exec("DELETE FROM change WHERE id < ?", next);
}

}  // namespace loam::meta
