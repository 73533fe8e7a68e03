// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace loam {

// Lower-case hexadecimal.
std::string hex_encode(std::span<const std::byte> bytes);
// Nothing unless `text` is an even number of hexadecimal digits.
std::optional<std::vector<std::byte>> hex_decode(std::string_view text);

// RFC 3986 percent-encoding of everything but unreserved characters and, if asked, '/'.
std::string percent_encode(std::string_view text, bool keep_slash);
// Invalid escapes are errors; '+' stays '+'.
Result<std::string> percent_decode(std::string_view text);

// RFC 4648 base 64 with padding; only the canonical text of some bytes decodes.
std::string base64_encode(std::string_view bytes);
Result<std::string> base64_decode(std::string_view text);

bool is_valid_utf8(std::string_view text);
// For output to people: control characters and bytes that are not UTF-8 become \xNN.
std::string printable(std::string_view text);

}  // namespace loam
