// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

namespace loam {

// The seam to chance. Implementations may be called from any thread.
class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<std::byte> out) = 0;

  std::uint64_t next();
  // Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [0, 1).
  double unit();
};

// The kernel's generator; good enough for tokens.
class SystemRandom final : public Random {
 public:
  void fill(std::span<std::byte> out) override;
};

// splitmix64 from a seed (Steele, Lea, Flood 2014); for tests and the simulator, never for tokens.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  void fill(std::span<std::byte> out) override;

 private:
  std::mutex mutex_;
  std::uint64_t state_;
};

// `prefix` followed by 20 characters of Crockford's base 32 (100 random bits): "j-0f3k…". Ids are
// names of things, not secrets.
std::string random_id(Random& random, std::string_view prefix);
// `bytes` random bytes as lower-case hex; 16 bytes make a lease token, 32 a bearer token.
std::string random_token(Random& random, std::size_t bytes);

}  // namespace loam
