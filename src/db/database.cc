// SPDX-License-Identifier: Apache-2.0
#include "db/database.h"

#include <fmt/format.h>

#include "base/check.h"

namespace loam::db {

std::int64_t Row::integer(std::size_t column) const {
  CHECK(column < values_.size());
  const auto* value = std::get_if<std::int64_t>(&values_[column]);
  CHECK(value != nullptr);
  return *value;
}

double Row::real(std::size_t column) const {
  CHECK(column < values_.size());
  if (const auto* whole = std::get_if<std::int64_t>(&values_[column])) {
    return static_cast<double>(*whole);
  }
  const auto* value = std::get_if<double>(&values_[column]);
  CHECK(value != nullptr);
  return *value;
}

const std::string& Row::text(std::size_t column) const {
  CHECK(column < values_.size());
  const auto* value = std::get_if<std::string>(&values_[column]);
  CHECK(value != nullptr);
  return *value;
}

bool Row::is_null(std::size_t column) const {
  CHECK(column < values_.size());
  return std::holds_alternative<std::monostate>(values_[column]);
}

std::optional<std::int64_t> Row::opt_integer(std::size_t column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}

std::optional<std::string> Row::opt_text(std::size_t column) const {
  return is_null(column) ? std::nullopt : std::optional(text(column));
}

namespace {

Status apply(Session& session, const Migration& step, const std::string& version_table) {
  std::string_view rest = step.sql;
  while (true) {
    const std::size_t end = rest.find(';');
    const std::string_view statement = rest.substr(0, end);
    if (statement.find_first_not_of(" \n\t") != std::string_view::npos) {
      TRY(session.exec(statement));
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  TRY(session.exec(fmt::format("UPDATE {} SET version = ?", version_table), step.version));
  return {};
}

}  // namespace

Status migrate(Database& database, std::span<const Migration> migrations,
               const std::string& version_table) {
  CHECK(!migrations.empty());
  TRY_VOID(database.write([&](Session& s) -> Status {
    TRY(s.exec(
        fmt::format("CREATE TABLE IF NOT EXISTS {} (version BIGINT NOT NULL)", version_table)));
    TRY(
        s.exec(fmt::format("INSERT INTO {0} (version) SELECT 0 WHERE NOT EXISTS "
                           "(SELECT 1 FROM {0})",
                           version_table)));
    return {};
  }));
  for (const Migration& step : migrations) {
    TRY_VOID(database.write([&](Session& s) -> Status {
      const auto row = TRY(s.row(fmt::format("SELECT version FROM {}", version_table)));
      CHECK(row.has_value());
      const std::int64_t version = row->integer(0);
      if (version > migrations.back().version) {
        return fail(ErrorCode::kConflict,
                    fmt::format("the database has {} {}, this program knows {}; run a newer loam",
                                version_table, version, migrations.back().version));
      }
      if (version >= step.version) return {};
      CHECK(version == step.version - 1);
      return apply(s, step, version_table);
    }));
  }
  return {};
}

}  // namespace loam::db
