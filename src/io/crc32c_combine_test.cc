// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "base/units.h"
#include "io/crc32c.h"

namespace loam::io {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Crc32cCombine, EqualsTheChecksumOfTheWhole) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += static_cast<char>(i * 7 + i / 3);
  for (const std::size_t cut : {0UL, 1UL, 3UL, 255UL, 256UL, 999UL, 1000UL}) {
    const auto whole = bytes_of(text);
    EXPECT_EQ(crc32c_combine(crc32c(whole.first(cut)), crc32c(whole.subspan(cut)),
                             static_cast<std::int64_t>(whole.size() - cut)),
              crc32c(whole));
  }
}

TEST(Crc32cCombine, FoldsBlocks) {
  const std::string text(2 * kBlockBytes + 12'345, 'x');
  BlockChecksums blocks;
  blocks.update(bytes_of(text));
  EXPECT_EQ(crc32c_of_blocks(blocks.values(), blocks.length()), crc32c(bytes_of(text)));
  EXPECT_EQ(crc32c_of_blocks({}, 0), crc32c({}));
}

}  // namespace
}  // namespace loam::io
