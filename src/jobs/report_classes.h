// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/json.h"

namespace loam::jobs {

// Microseconds by ledger class, and their cost.
class ClassTotals {
 public:
  ClassTotals();
  // `uusd_per_hour` is the price of one slot in micro-dollars.
  void add(const std::string& segment_class, std::int64_t us, double uusd_per_hour);
  // A recorded segment: a productive or provisional one is split into what the program spent
  // waiting for data, saving, and the rest; a lost one is lost whole.
  void add_segment(const std::string& segment_class, std::int64_t length_us,
                   std::int64_t data_wait_us, std::int64_t checkpoint_us, double uusd_per_hour);
  std::int64_t total_us() const;
  double usd() const { return uusd_ / 1e6; }
  Json seconds() const;

 private:
  std::map<std::string, std::int64_t> us_;
  double uusd_ = 0;
};

}  // namespace loam::jobs
