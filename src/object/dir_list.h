// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "object/object_store.h"

namespace loam::object {

// ObjectStore::list over the files of a DirStore. Needs no lock: an object that is there all the
// time is listed, one that comes or goes meanwhile may be. Holds in memory the names of the
// directories on the way to one object, not the whole tree. Arguments are checked by the caller.
Result<ListPage> list_directory(const std::string& root, const std::string& prefix,
                                const ListOptions& options);

}  // namespace loam::object
