// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "db/database.h"

namespace loam::meta {

// Creates or migrates every table of this folder, beside those of others. Columns that end in _lc
// are milliseconds of the lease clock and decide things; those in _ns are wall time in nanoseconds
// since the Unix epoch and are for people.
Status migrate_schema(db::Database& database);

}  // namespace loam::meta
