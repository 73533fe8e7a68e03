// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/units.h"
#include "io/crc32c.h"

namespace loam::io {

namespace {

// A CRC over GF(2) is linear: appending n zero bytes multiplies the register by a 32 x 32 bit
// matrix, and the matrix for 2n zeros is the square of the one for n.
using Matrix = std::array<std::uint32_t, 32>;  // column i is the image of bit i

constexpr std::uint32_t kPolynomialReflected = 0x82f63b78;

std::uint32_t times(const Matrix& matrix, std::uint32_t vector) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; vector != 0; ++i, vector >>= 1) {
    if ((vector & 1U) != 0) out ^= matrix[i];
  }
  return out;
}

Matrix squared(const Matrix& matrix) {
  Matrix out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = times(matrix, matrix[i]);
  return out;
}

Matrix one_zero_bit() {
  Matrix out{};
  out[0] = kPolynomialReflected;
  for (std::size_t i = 1; i < out.size(); ++i)
    out[i] = 1U << (i - 1);
  return out;
}

}  // namespace

std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second,
                             std::int64_t second_length) {
  CHECK(second_length >= 0);
  Matrix zeros = squared(squared(squared(one_zero_bit())));  // one zero byte
  for (auto left = static_cast<std::uint64_t>(second_length); left != 0; left >>= 1) {
    if ((left & 1U) != 0) first = times(zeros, first);
    zeros = squared(zeros);
  }
  return first ^ second;
}

std::uint32_t crc32c_of_blocks(std::span<const std::uint32_t> blocks, std::int64_t length) {
  std::uint32_t crc = 0;
  for (const std::uint32_t block : blocks) {
    const std::int64_t size = std::min(length, kBlockBytes);
    crc = crc32c_combine(crc, block, size);
    length -= size;
  }
  CHECK(length == 0);
  return crc;
}

}  // namespace loam::io
