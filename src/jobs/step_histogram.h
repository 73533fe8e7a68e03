// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/json.h"
#include "base/result.h"

namespace loam::jobs {

// Durations of steps, in buckets of floor(8 log2(µs)): each is 9 % wide, counts and sums are exact,
// and histograms add up; numbers that would not fit stop at INT64_MAX. Text form: [[bucket, count,
// sum_us], …].
class StepHistogram {
 public:
  void add(std::int64_t duration_us, std::int64_t count = 1);  // count steps of this duration each
  void merge(const StepHistogram& other);

  std::int64_t count() const;
  std::int64_t sum_us() const;
  // The mean of the bucket that holds the median step; nothing without steps.
  std::optional<std::int64_t> median_us() const;
  // Sum over steps of min(duration, cap). Within the one bucket that straddles the cap its mean
  // stands for each of its steps.
  std::int64_t capped_sum_us(std::int64_t cap_us) const;

  Json to_json() const;
  static Result<StepHistogram> from_json(const Json& array);

 private:
  struct Bucket {
    std::int64_t count = 0;
    std::int64_t sum_us = 0;
  };
  std::map<int, Bucket> buckets_;
};

}  // namespace loam::jobs
