// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace loam {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "CHECK failed: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace loam
