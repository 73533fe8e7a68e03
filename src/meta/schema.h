// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "db/database.h"

namespace loam::meta {

// Creates or migrates every table of this folder, beside those of others. Columns that end in _lc
// are milliseconds of the lease clock and decide things; those in _ns are wall time in nanoseconds
// since the Unix epoch and are for people.
Status migrate_schema(db::Database& database);
// The version that it migrates to.
std::int64_t schema_version();
// The tables that have rows then.
inline constexpr std::array<std::string_view, 2> kSeededTables{"inode", "namespace"};

}  // namespace loam::meta
