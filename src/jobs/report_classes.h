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
  double usd() const;
  // What interruptions cost: work done again, time after deaths, giving work back, and fetching
  // checkpoints.
  double interruption_usd() const;
  Json seconds() const;

 private:
  std::map<std::string, std::int64_t> us_;
  std::map<std::string, double> uusd_;
};

// How busy GPUs were, over the time in which they were measured.
struct GpuUse {
  std::int64_t busy_us = 0;
  std::int64_t measured_us = 0;

  void add(std::int64_t busy, std::int64_t measured) {
    busy_us += busy;
    measured_us += measured;
  }
  // 0 to 1; null where nothing was measured.
  Json share() const {
    if (measured_us == 0) return Json();
    return static_cast<double>(busy_us) / static_cast<double>(measured_us);
  }
};

}  // namespace loam::jobs
