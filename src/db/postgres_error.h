// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"

namespace loam::db {

// What a SQLSTATE of PostgreSQL means. Constraints are told apart as on SQLite.
ErrorCode meaning_of_sqlstate(std::string_view state);
// Another transaction was in the way: the same transaction may succeed if it is run again.
bool is_collision(std::string_view state);

}  // namespace loam::db
