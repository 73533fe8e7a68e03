// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "db/database.h"

namespace loam::db {

// Moving a database between SQLite and PostgreSQL: every table as lines of JSON, the format of
// docs/formats/database-dump.md. The same content gives the same bytes, whichever database it is
// in.

// The version of the tables of each folder that has some, by its name.
using Schemas = std::map<std::string, std::int64_t>;

// Writes one snapshot line by line, without the newlines; returns the number of rows.
Result<std::int64_t> dump(Database& database, const Schemas& schemas,
                          const std::function<Status(const std::string& line)>& line);

// Reads a dump into a database that has been migrated to `schemas` and is otherwise empty: all but
// the tables named in `seeded`, whose rows are replaced, else kConflict. All in one transaction;
// `open` is called each time that it runs. Returns the number of rows.
Result<std::int64_t> load(Database& database, const Schemas& schemas,
                          std::span<const std::string_view> seeded,
                          const std::function<std::unique_ptr<std::istream>()>& open);

}  // namespace loam::db
