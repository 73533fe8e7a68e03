// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "db/database.h"

namespace loam::meta {

// Looks at every table in one snapshot and reports what must not be: an entry without an inode, an
// inode without its entries, a cycle, a wrong link count, usage that does not add up (with what is
// not folded yet), an extent without its object, an object that no file needs, a key inside
// another. One line each, at most `limit` of each kind; none if all is well. It reads whole tables.
Result<std::vector<std::string>> check_namespace(db::Session& session, std::size_t limit = 20);

}  // namespace loam::meta
