// SPDX-License-Identifier: Apache-2.0
#include "io/crc32c.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "io/file.h"
#include "io/temp_directory.h"

namespace loam::io {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Crc32c, MatchesPublishedVectors) {
  // RFC 3720, appendix B.4, and the check value of the CRC catalogue.
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8a9136aaU);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xff'))), 0x62a8ab43U);
  std::string rising;
  for (char c = 0; c < 32; ++c)
    rising += c;
  EXPECT_EQ(crc32c(bytes_of(rising)), 0x46dd794eU);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, ContinuesFromASeed) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto all = bytes_of(text);
    EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), crc32c(all));
  }
}

TEST(BlockChecksums, DoNotDependOnHowBytesArrive) {
  std::string data(static_cast<std::size_t>(2 * kBlockBytes + 12345), '\0');
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<char>(i * 2654435761U >> 7U);
  const auto all = bytes_of(data);
  const std::vector<std::uint32_t> expected = {crc32c(all.first(kBlockBytes)),
                                               crc32c(all.subspan(kBlockBytes, kBlockBytes)),
                                               crc32c(all.subspan(2 * kBlockBytes))};
  for (const std::size_t piece : {std::size_t{777'777}, std::size_t{kBlockBytes}, data.size()}) {
    BlockChecksums checksums;
    for (std::size_t at = 0; at < data.size(); at += piece) {
      checksums.update(all.subspan(at, std::min(piece, data.size() - at)));
    }
    EXPECT_EQ(checksums.values(), expected);
    EXPECT_EQ(checksums.length(), static_cast<std::int64_t>(data.size()));
  }
  BlockChecksums whole;
  EXPECT_TRUE(whole.values().empty());
  whole.update(all.first(kBlockBytes));
  EXPECT_EQ(whole.values().size(), 1U);

  const TempDirectory dir;
  ASSERT_TRUE(write_file_atomic(dir / "f", data));
  const FileChecksums of_file = checksum_file(dir / "f").value();
  EXPECT_EQ(of_file.length, static_cast<std::int64_t>(data.size()));
  EXPECT_EQ(of_file.crc, format_checksums(expected));
}

TEST(ChecksumText, RoundTripsAndIsStrict) {
  const std::vector<std::uint32_t> values = {0xe3069283U, 0U, 0xffffffffU};
  EXPECT_EQ(format_checksums(values), "e306928300000000ffffffff");
  EXPECT_EQ(parse_checksums("e306928300000000ffffffff").value(), values);
  EXPECT_TRUE(parse_checksums("")->empty());
  for (const char* bad : {"e", "e306928", "E3069283", "e306928g", "0xe30692"}) {
    EXPECT_EQ(parse_checksums(bad).error().code, ErrorCode::kInvalidArgument) << bad;
  }
}

TEST(ChecksumText, PackedOnesAreFoundByNumber) {
  const std::vector<std::uint32_t> values = {0xe3069283U, 0U, 0xffffffffU};
  const std::string packed = pack_checksums(values);
  EXPECT_EQ(packed, std::string("\xe3\x06\x92\x83\0\0\0\0\xff\xff\xff\xff", 12));
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(packed_checksum(packed, static_cast<std::int64_t>(i)), values[i]);
  EXPECT_FALSE(packed_checksum(packed, 3));
  EXPECT_FALSE(packed_checksum("", 0));
}

}  // namespace
}  // namespace loam::io
