// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/operation.h"
#include "jobs/step_histogram.h"

namespace loam::jobs {

// A stretch of one slot's paid time, in microseconds of the node's own timeline (0 = enrolment).
// The node reports the classes idle, startup, restore, run, checkpoint and draining; "run" is
// provisional and is settled here to productive or lost_work.
struct Segment {
  std::int64_t slot = 0;
  std::int64_t start_us = 0;
  std::int64_t end_us = 0;
  std::string segment_class;
  std::string job;  // empty for idle
  std::int64_t epoch = 0;
  std::optional<std::int64_t> step_from;
  std::optional<std::int64_t> step_to;
  std::int64_t data_wait_us = 0;
  std::int64_t checkpoint_us = 0;
  // The slot's GPUs' mean busy share, times the length; nothing where none was measured.
  std::optional<std::int64_t> gpu_busy_us;
  StepHistogram steps;
};

inline constexpr std::size_t kMaxSegmentsPerCall = 1'000;

Result<std::vector<Segment>> parse_segments(const Json& array);

// Inserts or extends segments of a node. What overlaps time that is already recorded, or names a
// job that never ran there, is left out and logged; beyond `now_us` is kInvalidArgument.
Status record_segments(Operation& op, const std::string& node, std::int64_t now_us,
                       std::span<const Segment> segments);

// A set now covers the attempt's timeline up to `covered_us`: its run segments before become
// productive.
Status cover_attempt(Operation& op, const std::string& job, std::int64_t epoch,
                     std::int64_t covered_us);

// The attempt has ended: what is still provisional becomes productive if it succeeded, else lost
// work.
Status settle_attempt(Operation& op, const std::string& job, std::int64_t epoch, bool succeeded);

// The history now continues from `step`: work beyond it that a set had covered, which turned out
// bad, is lost after all.
Status forget_beyond(Operation& op, const std::string& job, std::int64_t step,
                     std::int64_t before_epoch);

}  // namespace loam::jobs
