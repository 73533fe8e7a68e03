// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace loam {

inline constexpr std::int64_t kKiB = 1024;
inline constexpr std::int64_t kMiB = 1024 * kKiB;
inline constexpr std::int64_t kGiB = 1024 * kMiB;
// The unit of checksums, caching and transfer of an object.
inline constexpr std::int64_t kBlockBytes = 4 * kMiB;

// "1.5 GiB", "320 B".
std::string format_bytes(std::int64_t bytes);
// "512", "64K", "100MiB", "1.5G": powers of 1024, at most 2^62.
Result<std::int64_t> parse_bytes(std::string_view text);
// "850 ms", "2.4 s", "3 min 20 s", "2 h 05 min".
std::string format_duration_us(std::int64_t microseconds);

// The decimal digits of a number from 0 up that fits; nothing for any other text.
std::optional<std::int64_t> parse_whole_number(std::string_view text);

}  // namespace loam
