// SPDX-License-Identifier: Apache-2.0
#include "base/encoding.h"

#include <array>
#include <cstdint>

namespace loam {

namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

// The length of the valid UTF-8 sequence at the start of `text`, or 0 (RFC 3629).
std::size_t utf8_sequence(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  std::uint32_t code = 0;
  if ((lead & 0xe0) == 0xc0) {
    length = 2;
    code = lead & 0x1f;
  } else if ((lead & 0xf0) == 0xe0) {
    length = 3;
    code = lead & 0x0f;
  } else if ((lead & 0xf8) == 0xf0) {
    length = 4;
    code = lead & 0x07;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
    code = (code << 6) | (at(i) & 0x3f);
  }
  static constexpr std::array<std::uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return 0;
  return length;
}

}  // namespace

std::string hex_encode(std::span<const std::byte> bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::byte b : bytes) {
    const unsigned value = std::to_integer<unsigned>(b);
    out += kHex[value >> 4];
    out += kHex[value & 15U];
  }
  return out;
}

std::optional<std::vector<std::byte>> hex_decode(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return out;
}

std::string percent_encode(std::string_view text, bool keep_slash) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c) || (c == '/' && keep_slash)) {
      out += c;
    } else {
      const unsigned value = static_cast<unsigned char>(c);
      out += '%';
      out += "0123456789ABCDEF"[value >> 4];
      out += "0123456789ABCDEF"[value & 15U];
    }
  }
  return out;
}

Result<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return fail(ErrorCode::kInvalidArgument, "'%' must be followed by two hexadecimal digits");
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) {
      group = (group << 8) | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= n ? kBase64[(group >> (18 - 6 * k)) & 63U] : '=';
    }
  }
  return out;
}

Result<std::string> base64_decode(std::string_view text) {
  const auto bad = [] { return fail(ErrorCode::kInvalidArgument, "not valid base 64"); };
  if (text.size() % 4 != 0) return bad();
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t group = 0;
    std::size_t padding = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const char c = text[i + k];
      if (c == '=' && i + 4 == text.size() && k >= 2) {
        ++padding;
        group <<= 6;
        continue;
      }
      const std::size_t value = kBase64.find(c);
      if (value == std::string_view::npos || padding > 0) return bad();
      group = (group << 6) | static_cast<std::uint32_t>(value);
    }
    // Bits that padding leaves over are zero, so that bytes have one text only.
    if ((group & ((1U << (8 * padding)) - 1U)) != 0) return bad();
    for (std::size_t k = 0; k + padding < 3; ++k) {
      out += static_cast<char>((group >> (16 - 8 * k)) & 255U);
    }
  }
  return out;
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    const unsigned char lead = static_cast<unsigned char>(text[0]);
    const bool c1 = length == 2 && lead == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (length == 0 || c1 || (length == 1 && (lead < 0x20 || lead == 0x7f))) {
      out += "\\x";
      out += kHex[lead >> 4];
      out += kHex[lead & 15U];
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace loam
