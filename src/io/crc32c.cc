// SPDX-License-Identifier: Apache-2.0
#include "io/crc32c.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/units.h"
#include "io/file.h"

namespace loam::io {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) {
  // ISA-L neither inverts its start value nor its result, as RFC 3720 asks; both are done here. Its
  // length is an int, and its pointer lacks a const that its code keeps.
  constexpr std::size_t kMaxPiece = std::size_t{1} << 30U;
  std::uint32_t state = ~seed;
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kMaxPiece);
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    state = ::crc32_iscsi(data, static_cast<int>(n), state);
    bytes = bytes.subspan(n);
  }
  return ~state;
}

void BlockChecksums::update(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::int64_t room = kBlockBytes - length_ % kBlockBytes;
    const std::size_t n = std::min(bytes.size(), static_cast<std::size_t>(room));
    current_ = crc32c(bytes.first(n), current_);
    length_ += static_cast<std::int64_t>(n);
    bytes = bytes.subspan(n);
    if (length_ % kBlockBytes == 0) {
      done_.push_back(current_);
      current_ = 0;
    }
  }
}

std::vector<std::uint32_t> BlockChecksums::values() const {
  std::vector<std::uint32_t> all = done_;
  if (length_ % kBlockBytes != 0) all.push_back(current_);
  return all;
}

std::string format_checksums(std::span<const std::uint32_t> values) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(values.size() * 8);
  for (const std::uint32_t value : values) {
    for (int shift = 28; shift >= 0; shift -= 4)
      text += kDigits[(value >> shift) & 15U];
  }
  return text;
}

Result<std::vector<std::uint32_t>> parse_checksums(std::string_view text) {
  if (text.size() % 8 != 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("checksums take eight digits each, and {} is no multiple of eight",
                            text.size()));
  }
  std::vector<std::uint32_t> values(text.size() / 8);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'f')) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is no lower-case hexadecimal digit in a checksum",
                              printable(text.substr(i, 1))));
    }
    const auto nibble = static_cast<std::uint32_t>(digit ? c - '0' : c - 'a' + 10);
    values[i / 8] = (values[i / 8] << 4U) | nibble;
  }
  return values;
}

std::string pack_checksums(std::span<const std::uint32_t> values) {
  std::string out;
  out.reserve(values.size() * 4);
  for (const std::uint32_t value : values) {
    for (int shift = 24; shift >= 0; shift -= 8)
      out.push_back(static_cast<char>(value >> shift & 0xffU));
  }
  return out;
}

std::optional<std::uint32_t> packed_checksum(std::string_view packed, std::int64_t number) {
  const auto at = static_cast<std::size_t>(number) * 4;
  if (at + 4 > packed.size()) return std::nullopt;
  std::uint32_t out = 0;
  for (const char c : packed.substr(at, 4))
    out = out << 8U | static_cast<unsigned char>(c);
  return out;
}

Result<FileChecksums> checksum_file(const std::string& path) {
  const Fd fd = TRY(open_file(path, O_RDONLY));
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<std::byte> buffer(static_cast<std::size_t>(kMiB));
  BlockChecksums checksums;
  for (;;) {
    const std::size_t n = TRY(read_at(fd.get(), buffer, checksums.length()));
    checksums.update(std::span(buffer).first(n));
    if (n < buffer.size()) break;
  }
  return FileChecksums{checksums.length(), format_checksums(checksums.values())};
}

}  // namespace loam::io
