// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace loam::io {

// CRC-32C (Castagnoli, RFC 3720 appendix B.4), conditioned: crc32c("123456789") = 0xe3069283.
// `seed` is the value of the bytes before, 0 at the start.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0);

// The checksum of two pieces laid end to end, from theirs and the length of the second in bytes.
std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second, std::int64_t second_length);
// The checksum of a whole file from those of its 4 MiB blocks.
std::uint32_t crc32c_of_blocks(std::span<const std::uint32_t> blocks, std::int64_t length);

// One checksum per 4 MiB block of a file (the last one shorter), over bytes that arrive in pieces.
class BlockChecksums {
 public:
  void update(std::span<const std::byte> bytes);
  // The checksums so far; the last, unfinished block included. An empty file has none.
  std::vector<std::uint32_t> values() const;
  std::int64_t length() const { return length_; }

 private:
  std::vector<std::uint32_t> done_;
  std::uint32_t current_ = 0;
  std::int64_t length_ = 0;
};

// Text form: eight lower-case hexadecimal digits per block, big-endian, in order.
std::string format_checksums(std::span<const std::uint32_t> values);
Result<std::vector<std::uint32_t>> parse_checksums(std::string_view text);

// The same in four bytes each, the most significant first, and one of them by its number; nothing
// beyond the end.
std::string pack_checksums(std::span<const std::uint32_t> values);
std::optional<std::uint32_t> packed_checksum(std::string_view packed, std::int64_t number);

// Reads a whole file and returns its block checksums and length.
struct FileChecksums {
  std::int64_t length = 0;
  std::string crc;  // format_checksums()
};
Result<FileChecksums> checksum_file(const std::string& path);

}  // namespace loam::io
