// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace loam::cli {

// "3 min ago", "2 h ago", "12 d ago"; the text itself if it is no time, "now" if it lies ahead.
std::string age_text(std::string_view utc, std::int64_t now_ms);

// "15:30:00" of a time as the server writes it.
std::string clock_text(std::string_view utc);

}  // namespace loam::cli
