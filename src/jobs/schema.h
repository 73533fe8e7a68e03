// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "db/database.h"

namespace loam::jobs {

// Creates or migrates every table of this folder. Columns that end in _lc are milliseconds of the
// lease clock (lease_clock.h) and decide things; columns that end in _at are wall time in
// milliseconds and are for people.
Status migrate_schema(db::Database& database);
// The version that it migrates to.
std::int64_t schema_version();
// The tables that have rows then.
inline constexpr std::array<std::string_view, 2> kSeededTables{"lease_clock", "counter"};

}  // namespace loam::jobs
