// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "jobs/step_histogram.h"

namespace loam::agent {

// What each slot's paid time was used for, from enrolment on, without gaps, in microseconds since
// then. Segments are kept until the server has acknowledged them. Any thread.
class Timeline {
 public:
  Timeline(const Clock& clock, std::int64_t slots);

  std::int64_t now_us() const;
  // Closes the open segment of the slot and opens another.
  void begin(std::int64_t slot, const std::string& segment_class, const std::string& job,
             std::int64_t epoch);
  // From the first step on an attempt's time is "run"; a step's duration is the time since the one
  // before it.
  void start_run(std::int64_t slot, std::optional<std::int64_t> from_step);
  void add_step(std::int64_t slot, std::int64_t step, std::int64_t duration_us);
  // What the program itself says it spent since the last call; counted inside the open run segment.
  void add_program_times(std::int64_t slot, std::int64_t data_wait_us, std::int64_t checkpoint_us);
  // Since the last call the slot's GPUs were busy for `busy_us` on average.
  void add_gpu_use(std::int64_t slot, std::int64_t busy_us);
  // Closes the open segment and goes on with the same class; the position of the cut.
  std::int64_t cut(std::int64_t slot);

  // What to tell the server: the node's present, and what of these slots it has not acknowledged,
  // the open segments as far as they have grown.
  struct Report {
    std::int64_t now_us = 0;
    Json segments = Json::array();
    std::vector<std::pair<std::int64_t, std::int64_t>> closed;  // (slot, start_us)
    std::vector<std::int64_t> slots;                            // that it tells all of
  };
  Report report(std::optional<std::int64_t> slot = std::nullopt) const;
  void acknowledge(const Report& report);
  // Up to where the server knows all slots.
  std::int64_t acknowledged_us() const;

 private:
  struct Open {
    std::int64_t start_us = 0;
    std::string segment_class = "idle";
    std::string job;
    std::int64_t epoch = 0;
    std::optional<std::int64_t> step_from;
    std::optional<std::int64_t> step_to;
    std::int64_t data_wait_us = 0;
    std::int64_t checkpoint_us = 0;
    std::optional<std::int64_t> gpu_busy_us;
    jobs::StepHistogram steps;
  };
  struct Closed {
    Open segment;
    std::int64_t end_us = 0;
  };
  struct Slot {
    Open open;
    std::deque<Closed> closed;  // oldest first; at most kMaxKept
    std::int64_t acknowledged_us = 0;
  };
  static Json to_json(std::int64_t slot, const Open& segment, std::int64_t end_us);
  void close(Slot& slot, std::int64_t end_us);

  const Clock& clock_;
  const std::int64_t start_boot_us_;
  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
};

}  // namespace loam::agent
