// SPDX-License-Identifier: Apache-2.0
#include "loam/database_schema.h"

#include "jobs/schema.h"
#include "meta/schema.h"

namespace loam::cli {

Status migrate_schemas(db::Database& database) {
  TRY_VOID(jobs::migrate_schema(database));
  return meta::migrate_schema(database);
}

db::Schemas schema_versions() {
  return {{"jobs", jobs::schema_version()}, {"meta", meta::schema_version()}};
}

std::vector<std::string_view> seeded_tables() {
  std::vector<std::string_view> out(jobs::kSeededTables.begin(), jobs::kSeededTables.end());
  out.insert(out.end(), meta::kSeededTables.begin(), meta::kSeededTables.end());
  return out;
}

}  // namespace loam::cli
