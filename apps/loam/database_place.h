// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "db/database.h"

namespace loam::cli {

// Where a database is: one of the two.
struct DatabasePlace {
  std::string sqlite_path;
  std::string postgres_url;
};

// "sqlite:PATH", "postgresql://…" or "postgres://…"; anything else is kInvalidArgument.
Result<DatabasePlace> database_place(const std::string& text);
Result<std::unique_ptr<db::Database>> open_database(const DatabasePlace& place);

}  // namespace loam::cli
