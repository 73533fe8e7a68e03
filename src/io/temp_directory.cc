// SPDX-License-Identifier: Apache-2.0
#include "io/temp_directory.h"

#include <cstdlib>

#include "base/check.h"
#include "base/log.h"
#include "io/file.h"

namespace loam::io {

TempDirectory::TempDirectory() {
  const char* base = std::getenv("TMPDIR");
  path_ = std::string(base == nullptr || *base == '\0' ? "/tmp" : base) + "/loam-XXXXXX";
  CHECK(::mkdtemp(path_.data()) != nullptr);
}

TempDirectory::~TempDirectory() {
  if (const Status removed = remove_tree(path_); !removed) {
    LOG_WARN("could not remove {}: {}", path_, removed.error().to_string());
  }
}

}  // namespace loam::io
