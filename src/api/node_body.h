// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "jobs/finish.h"
#include "jobs/renew.h"

// What nodes send, taken apart (docs/formats/node-protocol.md). Every error is kInvalidArgument.
namespace loam::api {

// The body of a renewal.
Result<jobs::Renewal> parse_renewal(const Json& body);
// What complete, fail and release have in common.
Result<jobs::FinalReport> parse_final(const Json& body);

// The header "Loam-Lease: <epoch>.<token>".
struct LeaseHeader {
  std::int64_t epoch = 0;
  std::string_view token;  // of the text that was parsed
};
Result<LeaseHeader> parse_lease_header(std::string_view text);

}  // namespace loam::api
