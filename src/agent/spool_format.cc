// SPDX-License-Identifier: Apache-2.0
#include "agent/spool_format.h"

#include "base/check.h"
#include "io/crc32c.h"

namespace loam::agent {

namespace {

void put_little_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
}

std::uint64_t get_little_endian(std::string_view text, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(text[at + i]);
  }
  return value;
}

std::uint32_t checksum(std::string_view text) {
  return io::crc32c(std::as_bytes(std::span(text.data(), text.size())));
}

constexpr std::size_t kLengthAt = 4;
constexpr std::size_t kTypeAt = 8;
constexpr std::size_t kBootAt = 12;
constexpr std::size_t kWallAt = 20;

}  // namespace

std::string encode_spool_record(const SpoolRecord& record) {
  CHECK(record.payload.size() <= kMaxSpoolPayload);
  std::string body;
  body.reserve(kSpoolHeaderBytes + record.payload.size());
  put_little_endian(body, record.payload.size(), 4);
  put_little_endian(body, static_cast<std::uint8_t>(record.type), 4);
  put_little_endian(body, static_cast<std::uint64_t>(record.boot_us), 8);
  put_little_endian(body, static_cast<std::uint64_t>(record.wall_ms), 8);
  body += record.payload;
  std::string out;
  out.reserve(body.size() + 4);
  put_little_endian(out, checksum(body), 4);
  return out + body;
}

std::optional<std::size_t> spool_payload_length(std::span<const char> header) {
  CHECK(header.size() >= kSpoolHeaderBytes);
  const std::size_t length =
      get_little_endian(std::string_view(header.data(), header.size()), kLengthAt, 4);
  if (length > kMaxSpoolPayload) return std::nullopt;
  return length;
}

std::optional<SpoolRecord> decode_spool_record(std::string_view bytes) {
  if (bytes.size() < kSpoolHeaderBytes) return std::nullopt;
  if (get_little_endian(bytes, 0, 4) != checksum(bytes.substr(4))) return std::nullopt;
  const std::uint64_t type = get_little_endian(bytes, kTypeAt, 4);
  if (type < 1 || type > 3) return std::nullopt;
  SpoolRecord record;
  record.type = static_cast<SpoolRecordType>(type);
  record.boot_us = static_cast<std::int64_t>(get_little_endian(bytes, kBootAt, 8));
  record.wall_ms = static_cast<std::int64_t>(get_little_endian(bytes, kWallAt, 8));
  record.payload = bytes.substr(kSpoolHeaderBytes);
  return record;
}

std::string encode_gap(std::uint64_t dropped_bytes) {
  std::string out;
  put_little_endian(out, dropped_bytes, 8);
  return out;
}

std::optional<std::uint64_t> decode_gap(std::string_view payload) {
  if (payload.size() != 8) return std::nullopt;
  return get_little_endian(payload, 0, 8);
}

}  // namespace loam::agent
