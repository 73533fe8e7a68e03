// SPDX-License-Identifier: Apache-2.0
#include "loam/database_place.h"

#include <fmt/format.h>

#include "db/postgres_database.h"
#include "db/postgres_url.h"
#include "db/sqlite_database.h"

namespace loam::cli {

Result<DatabasePlace> database_place(const std::string& text) {
  if (db::is_postgres_url(text)) return DatabasePlace{.sqlite_path = {}, .postgres_url = text};
  constexpr std::string_view kSqlite = "sqlite:";
  if (text.starts_with(kSqlite) && text.size() > kSqlite.size()) {
    return DatabasePlace{.sqlite_path = text.substr(kSqlite.size()), .postgres_url = {}};
  }
  // Almost a URL, or libpq's other form: where the password stands in it is not known.
  const bool may_hold_password =
      text.find('@') != std::string::npos || text.find("password") != std::string::npos;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' names no database; write sqlite:PATH or "
                          "postgresql://USER@HOST/DATABASE",
                          may_hold_password ? "***" : text));
}

Result<std::unique_ptr<db::Database>> open_database(const DatabasePlace& place) {
  if (!place.postgres_url.empty()) return db::open_postgres({.url = place.postgres_url});
  return db::open_sqlite({.path = place.sqlite_path});
}

}  // namespace loam::cli
