// SPDX-License-Identifier: Apache-2.0
#include "jobs/step_histogram.h"

#include <algorithm>
#include <cmath>

namespace loam::jobs {

namespace {
// floor(8 log2(2^63 µs)); no duration lies beyond.
constexpr int kLastBucket = 8 * 63;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;

int bucket_of(std::int64_t us) {
  return static_cast<int>(
      std::floor(8 * std::log2(static_cast<double>(std::max<std::int64_t>(us, 1)))));
}
// Nodes report these numbers and may report any; sums of them stop at the end of the type.
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? INT64_MAX : out;
}
std::int64_t product_of(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}
}  // namespace

void StepHistogram::add(std::int64_t duration_us, std::int64_t count) {
  Bucket& bucket = buckets_[bucket_of(duration_us)];
  bucket.count = sum_of(bucket.count, count);
  bucket.sum_us = sum_of(bucket.sum_us, product_of(duration_us, count));
}

void StepHistogram::merge(const StepHistogram& other) {
  for (const auto& [index, bucket] : other.buckets_) {
    Bucket& own = buckets_[index];
    own.count = sum_of(own.count, bucket.count);
    own.sum_us = sum_of(own.sum_us, bucket.sum_us);
  }
}

std::int64_t StepHistogram::count() const {
  std::int64_t total = 0;
  for (const auto& [index, bucket] : buckets_)
    total = sum_of(total, bucket.count);
  return total;
}

std::int64_t StepHistogram::sum_us() const {
  std::int64_t total = 0;
  for (const auto& [index, bucket] : buckets_)
    total = sum_of(total, bucket.sum_us);
  return total;
}

std::optional<std::int64_t> StepHistogram::median_us() const {
  const std::int64_t half = count() / 2 + count() % 2;
  std::int64_t seen = 0;
  for (const auto& [index, bucket] : buckets_) {
    seen = sum_of(seen, bucket.count);
    if (seen >= half && bucket.count > 0) return bucket.sum_us / bucket.count;
  }
  return std::nullopt;
}

std::int64_t StepHistogram::capped_sum_us(std::int64_t cap_us) const {
  std::int64_t total = 0;
  for (const auto& [index, bucket] : buckets_) {
    total = sum_of(total, std::min(bucket.sum_us, product_of(cap_us, bucket.count)));
  }
  return total;
}

Json StepHistogram::to_json() const {
  Json out = Json::array();
  for (const auto& [index, bucket] : buckets_)
    out.push_back({index, bucket.count, bucket.sum_us});
  return out;
}

Result<StepHistogram> StepHistogram::from_json(const Json& array) {
  const auto bad = [] {
    return fail(ErrorCode::kInvalidArgument, "'steps' must be a list of [bucket, count, sum_us]");
  };
  StepHistogram out;
  if (array.is_null()) return out;
  if (!array.is_array() || array.size() > kLastBucket + 1) return bad();
  for (const Json& entry : array) {
    if (!entry.is_array() || entry.size() != 3) return bad();
    for (const Json& part : entry) {
      if (!part.is_number_integer()) return bad();
    }
    const auto index = entry[0].get<std::int64_t>();
    const Bucket bucket{entry[1].get<std::int64_t>(), entry[2].get<std::int64_t>()};
    if (index < 0 || index > kLastBucket || bucket.count < 0 || bucket.count > kMostSteps ||
        bucket.sum_us < 0 || bucket.sum_us > (std::int64_t{1} << 60)) {
      return bad();
    }
    if (!out.buckets_.emplace(static_cast<int>(index), bucket).second) return bad();
  }
  return out;
}

}  // namespace loam::jobs
