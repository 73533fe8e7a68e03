// SPDX-License-Identifier: Apache-2.0
#include "db/postgres_error.h"

namespace loam::db {

ErrorCode meaning_of_sqlstate(std::string_view state) {
  if (is_collision(state)) return ErrorCode::kUnavailable;
  // cannot_connect_now, the shutdowns, a canceled statement, too_many_connections.
  if (state.starts_with("08") || state.starts_with("57") || state == "53300" || state == "25P03") {
    return ErrorCode::kUnavailable;
  }
  if (state.starts_with("23")) return ErrorCode::kAlreadyExists;
  if (state.starts_with("53")) return ErrorCode::kResourceExhausted;
  if (state.starts_with("54")) return ErrorCode::kTooLarge;
  if (state == "XX001" || state == "XX002") return ErrorCode::kDataCorrupt;
  return ErrorCode::kInternal;
}

bool is_collision(std::string_view state) {
  return state == "40001" || state == "40P01" || state == "55P03";
}

}  // namespace loam::db
