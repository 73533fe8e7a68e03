// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jobs/operation.h"

namespace loam::jobs {

// Answers are kept this long, by the lease clock.
inline constexpr std::int64_t kIdempotencyKeptMs = std::int64_t{7} * 86'400'000;

struct IdempotencyKey {
  std::string owner;
  std::string route;
  std::string key;
  std::string body_sha256;
};

// The answer given to this key before, if any. The same key with another body is kUnprocessable.
Result<std::optional<std::string>> earlier_answer(Operation& op, const IdempotencyKey& key);
// Remembers the answer in the transaction of what it answers.
Status remember_answer(Operation& op, const IdempotencyKey& key, const std::string& answer);
Status forget_old_answers(Operation& op);

}  // namespace loam::jobs
