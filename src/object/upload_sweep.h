// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "object/multipart.h"
#include "object/object_store.h"

namespace loam::object {

struct SweptUploads {
  std::vector<PendingUpload> old;
  std::size_t aborted = 0;
  std::size_t younger = 0;
};

// The unfinished multipart uploads below a prefix that began longer than `age` ago by the service's
// clock; with `abort`, they are aborted. A process that dies leaves them behind. What lies under a
// store's prefix is Loam's own, so a server sweeps its whole store. A store without such uploads
// has none.
Result<SweptUploads> sweep_uploads(ObjectStore& store, const std::string& prefix,
                                   std::chrono::milliseconds age, bool abort);

}  // namespace loam::object
