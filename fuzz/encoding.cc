// SPDX-License-Identifier: Apache-2.0
#include "base/encoding.h"

#include <array>
#include <span>

#include "base/check.h"
#include "base/path.h"
#include "base/units.h"
#include "fuzz/targets.h"
#include "io/crc32c.h"
#include "io/file.h"
#include "jobs/job_spec.h"
#include "jobs/spec_reader.h"
#include "object/dir_layout.h"

namespace loam::fuzz {

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void check_binary_text(std::string_view input) {
  const std::string hex = hex_encode(bytes_of(input));
  const auto back = hex_decode(hex);
  CHECK(hex.size() == 2 * input.size() && back.has_value());
  CHECK(std::equal(back->begin(), back->end(), bytes_of(input).begin(), bytes_of(input).end()));
  if (const auto bytes = hex_decode(input)) CHECK(2 * bytes->size() == input.size());
  CHECK(base64_decode(base64_encode(input)) == input);
  // Of the texts that stand for the same bytes only one is written, and all are short.
  if (const auto bytes = base64_decode(input)) CHECK(base64_encode(*bytes) == input);
  for (const bool keep_slash : {false, true}) {
    const std::string escaped = percent_encode(input, keep_slash);
    CHECK(percent_decode(escaped) == input);
    CHECK(keep_slash || escaped.find('/') == std::string::npos);
  }
  if (const auto plain = percent_decode(input)) CHECK(plain->size() <= input.size());
}

void check_for_people(std::string_view input) {
  const std::string shown = printable(input);
  CHECK(is_valid_utf8(shown) && shown.size() >= input.size());
  for (const char c : shown)
    CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  CHECK(printable(shown) == shown);
}

void check_numbers(std::string_view input) {
  const auto size = parse_bytes(input);
  CHECK(!size || (*size >= 0 && *size <= (std::int64_t{1} << 62)));
  CHECK(size || size.error().code == ErrorCode::kInvalidArgument);
  if (size) CHECK(!format_bytes(*size).empty() && !format_duration_us(*size).empty());
  const auto duration = jobs::parse_duration_ms(input);
  CHECK(duration || duration.error().code == ErrorCode::kInvalidArgument);
  CHECK(!duration || std::abs(*duration) <= 1'000'000'000'000'000);
  const auto checksums = io::parse_checksums(input);
  CHECK(!checksums || io::format_checksums(*checksums) == input);
}

// What passes must stay below the directory that it is put into.
void check_paths(std::string_view input) {
  const bool good = io::check_relative_path(input).has_value();
  CHECK(good == (path_fault(input, {}) == PathFault::kNone));
  const std::string framed = "/" + std::string(input) + "/";
  if (good) {
    CHECK(framed.find("/../") == std::string::npos && framed.find("/./") == std::string::npos);
    CHECK(framed.find("//") == std::string::npos && framed.find('\0') == std::string::npos);
  }
  const Status store = jobs::check_store_path(input);
  if (store) {
    CHECK(input.starts_with('/') && framed.find("/../") == std::string::npos);
    CHECK(!input.starts_with("/.loam/") && !input.starts_with("/jobs/"));
  } else {
    CHECK(store.error().code == ErrorCode::kInvalidArgument ||
          store.error().code == ErrorCode::kPermissionDenied);
  }
}

void check_keys(std::string_view input) {
  if (input.find('/') == std::string_view::npos) {
    const std::string encoded = object::encode_segment(input);
    CHECK(encoded.find('/') == std::string::npos && encoded != "." && encoded != "..");
    CHECK(object::decode_segment(encoded) == input);
    if (const auto segment = object::decode_segment(input)) {
      CHECK(object::encode_segment(*segment) == input);
    }
  }
  if (!object::check_key(input)) return;
  const object::KeyPath path = object::path_of_key(input);
  for (const std::string& name : path.directories) {
    CHECK(!name.empty() && name.size() <= 255 && name != "." && name != "..");
    CHECK(name != object::kTempFolder && name.find('/') == std::string::npos);
  }
  CHECK(!path.file.empty() && path.file.size() + object::kObjectSuffix.size() <= 255);
  CHECK(path.file.find('/') == std::string::npos && path.file != "." && path.file != "..");
}

void check_checksums(std::string_view input) {
  const std::size_t half = input.size() / 2;
  const std::uint32_t whole = io::crc32c(bytes_of(input));
  const std::uint32_t first = io::crc32c(bytes_of(input.substr(0, half)));
  CHECK(io::crc32c(bytes_of(input.substr(half)), first) == whole);
  CHECK(io::crc32c_combine(first, io::crc32c(bytes_of(input.substr(half))),
                           static_cast<std::int64_t>(input.size() - half)) == whole);
}

}  // namespace

void run_encoding(std::string_view input) {
  check_binary_text(input);
  check_for_people(input);
  check_numbers(input);
  check_paths(input);
  check_keys(input);
  check_checksums(input);
}

}  // namespace loam::fuzz
