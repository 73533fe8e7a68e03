// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace loam::cli {

// "0.1.0": the version of the project that this binary was built from.
std::string_view version();

}  // namespace loam::cli
