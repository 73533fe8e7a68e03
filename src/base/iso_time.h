// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace loam {

// Times as Loam's server and S3 write them, in milliseconds since the Unix epoch; nothing if they
// are malformed, or lie before it.

// "2026-11-30T15:30:00.000Z", with or without the fraction.
std::optional<std::int64_t> parse_iso_time(std::string_view text);
// "Mon, 30 Nov 2026 15:30:00 GMT" (RFC 9110, IMF-fixdate).
std::optional<std::int64_t> parse_http_date(std::string_view text);

}  // namespace loam
