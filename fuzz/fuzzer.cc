// SPDX-License-Identifier: Apache-2.0
// libFuzzer's way into the target that LOAM_FUZZ_TARGET names.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/log.h"
#include "fuzz/targets.h"

namespace {

const loam::fuzz::Target& chosen() {
  for (const loam::fuzz::Target& target : loam::fuzz::targets()) {
    if (target.name == LOAM_FUZZ_TARGET) return target;
  }
  loam::check_failed("LOAM_FUZZ_TARGET is a target", __FILE__, __LINE__);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Warnings about bad input would be most of what a fuzzer writes.
  loam::log_setup({.level = loam::LogLevel::kError});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const loam::fuzz::Target& target = chosen();
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
