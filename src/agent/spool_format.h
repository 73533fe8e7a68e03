// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"

// The bytes of a log spool; docs/formats/log-spool.md is the specification.
namespace loam::agent {

inline constexpr std::string_view kSpoolMagic = "LOAMSP01";
inline constexpr std::size_t kSpoolHeaderBytes = 28;
inline constexpr std::size_t kMaxSpoolPayload = 64 * kKiB;

enum class SpoolRecordType : std::uint8_t {
  kText = 1,  // payload: output of the program
  kGap = 2,   // payload: u64, number of bytes of output that were dropped here
  kEnd = 3,   // payload: JSON, how the attempt ended; nothing follows
};

struct SpoolRecord {
  SpoolRecordType type = SpoolRecordType::kText;
  std::int64_t boot_us = 0;
  std::int64_t wall_ms = 0;
  std::string payload;
};

// Header and payload, ready to be appended. The payload is at most kMaxSpoolPayload.
std::string encode_spool_record(const SpoolRecord& record);

// The payload's length as the header of a record states it; nothing if that is out of bounds.
std::optional<std::size_t> spool_payload_length(std::span<const char> header);
// Nothing if the checksum or the type is wrong. `bytes` is a header and its whole payload.
std::optional<SpoolRecord> decode_spool_record(std::string_view bytes);

std::string encode_gap(std::uint64_t dropped_bytes);
std::optional<std::uint64_t> decode_gap(std::string_view payload);

}  // namespace loam::agent
