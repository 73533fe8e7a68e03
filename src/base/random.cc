// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/encoding.h"

namespace loam {

std::uint64_t Random::next() {
  std::uint64_t value = 0;
  fill(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

std::uint64_t Random::below(std::uint64_t bound) {
  CHECK(bound > 0);
  // Values past the last whole multiple of bound are drawn again, so that none is likelier.
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  std::uint64_t value = next();
  while (value >= limit)
    value = next();
  return value % bound;
}

double Random::unit() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

void SystemRandom::fill(std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t n = getrandom(out.data(), out.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    CHECK(n > 0);
    out = out.subspan(static_cast<std::size_t>(n));
  }
}

void SeededRandom::fill(std::span<std::byte> out) {
  const std::lock_guard lock(mutex_);
  while (!out.empty()) {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    const std::size_t n = std::min(out.size(), sizeof z);
    std::memcpy(out.data(), &z, n);
    out = out.subspan(n);
  }
}

std::string random_id(Random& random, std::string_view prefix) {
  static constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  std::array<std::byte, 20> bytes{};
  random.fill(bytes);
  std::string id(prefix);
  for (const std::byte b : bytes)
    id += kAlphabet[std::to_integer<std::size_t>(b) & 31U];
  return id;
}

std::string random_token(Random& random, std::size_t bytes) {
  std::vector<std::byte> raw(bytes);
  random.fill(raw);
  return hex_encode(raw);
}

}  // namespace loam
