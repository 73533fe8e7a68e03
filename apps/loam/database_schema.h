// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "db/dump.h"

namespace loam::cli {

// Creates or migrates the tables of every folder that has some.
Status migrate_schemas(db::Database& database);
db::Schemas schema_versions();
// The tables that have rows in a new database.
std::vector<std::string_view> seeded_tables();

}  // namespace loam::cli
