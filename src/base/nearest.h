// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace loam {

// The candidate with the smallest edit distance to `word`, if that is close enough to be what the
// user meant (at most two edits, or a third of the word).
std::optional<std::string> nearest_name(std::string_view word,
                                        std::span<const std::string_view> candidates);

}  // namespace loam
