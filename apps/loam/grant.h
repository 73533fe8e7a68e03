// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"

namespace loam::cli {

// "/users/ann:rw" or "/datasets" (also ":r") to the API's {prefix, write}.
Result<Json> parse_grant(const std::string& text);

// "/users/ann:rw, /datasets" of a token as the API lists it.
std::string grants_text(const Json& grants);

}  // namespace loam::cli
