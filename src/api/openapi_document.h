// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace loam::api {

// src/api/openapi.json as it was when this was built. It describes every route, and a test holds it
// against the router.
std::string_view openapi_document();

}  // namespace loam::api
