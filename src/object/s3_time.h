// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace loam::object {

// Times as S3 writes them, in milliseconds since the Unix epoch; nothing if they are malformed.

// "2026-11-30T15:30:00.000Z", with or without the fraction.
std::optional<std::int64_t> parse_iso_time(const std::string& text);
// "Mon, 30 Nov 2026 15:30:00 GMT" (RFC 9110, IMF-fixdate).
std::optional<std::int64_t> parse_http_date(const std::string& text);

}  // namespace loam::object
