// SPDX-License-Identifier: Apache-2.0
#include "loam/version.h"

namespace loam::cli {

std::string_view version() {
  return LOAM_VERSION;
}

}  // namespace loam::cli
