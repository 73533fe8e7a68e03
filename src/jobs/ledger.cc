// SPDX-License-Identifier: Apache-2.0
#include "jobs/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/log.h"

namespace loam::jobs {

namespace {

constexpr std::array<std::string_view, 6> kReported{"idle", "startup",    "restore",
                                                    "run",  "checkpoint", "draining"};
// A year; longer stretches are nonsense, and this keeps sums far from overflow.
constexpr std::int64_t kMostUs = std::int64_t{366} * 86'400 * 1'000'000;

Result<Segment> parse_segment(const Json& value) {
  Segment out;
  out.slot = TRY(json_int(value, "slot"));
  out.start_us = TRY(json_int(value, "start_us"));
  out.end_us = TRY(json_int(value, "end_us"));
  out.segment_class = TRY(json_string(value, "class"));
  out.job = TRY(json_string(value, "job", ""));
  out.epoch = TRY(json_int(value, "epoch", 0));
  if (value.contains("step_from") && !value.at("step_from").is_null()) {
    out.step_from = TRY(json_int(value, "step_from"));
  }
  if (value.contains("step_to") && !value.at("step_to").is_null()) {
    out.step_to = TRY(json_int(value, "step_to"));
  }
  out.data_wait_us = TRY(json_int(value, "data_wait_us", 0));
  out.checkpoint_us = TRY(json_int(value, "checkpoint_us", 0));
  if (value.contains("gpu_busy_us") && !value.at("gpu_busy_us").is_null()) {
    out.gpu_busy_us = TRY(json_int(value, "gpu_busy_us"));
  }
  out.steps = TRY(StepHistogram::from_json(value.value("steps", Json())));
  if (out.start_us < 0 || out.start_us > kMostUs || out.end_us < 0 || out.end_us > kMostUs) {
    return fail(ErrorCode::kInvalidArgument, "a segment lies outside of any timeline");
  }
  const std::int64_t busy = out.gpu_busy_us.value_or(0);
  const std::int64_t length = out.end_us - out.start_us;
  if (length < 0 || busy < 0 || busy > length || out.data_wait_us < 0 || out.checkpoint_us < 0 ||
      out.data_wait_us > length || out.checkpoint_us > length - out.data_wait_us ||
      std::find(kReported.begin(), kReported.end(), out.segment_class) == kReported.end() ||
      out.job.empty() != (out.segment_class == "idle")) {
    return fail(ErrorCode::kInvalidArgument, "a segment does not add up: " + dump_json(value));
  }
  return out;
}

// A run segment that is reported late belongs where its attempt's end has put its neighbours.
Result<std::string> stored_class(Operation& op, const std::string& node, const Segment& segment) {
  if (segment.job.empty()) return segment.segment_class;
  const auto row = TRY(op.session.row(
      "SELECT state, covered_us, node_id FROM attempt WHERE job_id = ? AND epoch = ?", segment.job,
      segment.epoch));
  if (!row || row->text(2) != node) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("no attempt {} of {} ran on this node", segment.epoch, segment.job));
  }
  if (segment.segment_class != "run") return segment.segment_class;
  if (segment.end_us <= row->integer(1) || row->text(0) == "succeeded") return "productive";
  return row->text(0) == "running" ? "run" : "lost_work";
}

// Segments of a slot never overlap, so only the neighbours in order of start need a look.
Status check_neighbours(Operation& op, const std::string& node, const Segment& segment) {
  const auto before = TRY(
      op.session.row("SELECT end_us FROM segment WHERE node_id = ? AND slot = ? AND start_us < ? "
                     "ORDER BY start_us DESC LIMIT 1",
                     node, segment.slot, segment.start_us));
  const auto after = TRY(
      op.session.row("SELECT start_us FROM segment WHERE node_id = ? AND slot = ? AND start_us > ? "
                     "ORDER BY start_us LIMIT 1",
                     node, segment.slot, segment.start_us));
  if ((before && before->integer(0) > segment.start_us) ||
      (after && after->integer(0) < segment.end_us)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the segment at {} µs of slot {} overlaps another", segment.start_us,
                            segment.slot));
  }
  return {};
}

// Time of a slot that the node does not have would be paid for by nobody.
Status check_slot(Operation& op, const std::string& node, const Segment& segment) {
  const auto row = TRY(op.session.row("SELECT slots FROM node WHERE id = ?", node));
  if (row && segment.slot >= 0 && segment.slot < row->integer(0)) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the segment at {} µs names slot {}, which the node does not have",
                          segment.start_us, segment.slot));
}

// What is known of a start is a copy of the same stretch: it may grow, but a slot has run one
// attempt at a time, so it cannot become another's.
Status check_copy(Operation& op, const std::string& node, const Segment& segment) {
  const auto row = TRY(op.session.row(
      "SELECT job_id, epoch FROM segment WHERE node_id = ? AND slot = ? AND start_us = ?", node,
      segment.slot, segment.start_us));
  if (!row || (row->text(0) == segment.job && row->integer(1) == segment.epoch)) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the segment at {} µs of slot {} is of {} (epoch {}), not of {} ({})",
                          segment.start_us, segment.slot, row->text(0), row->integer(1),
                          segment.job, segment.epoch));
}

Status record_one(Operation& op, const std::string& node, const Segment& segment) {
  TRY_VOID(check_slot(op, node, segment));
  TRY_VOID(check_copy(op, node, segment));
  TRY_VOID(check_neighbours(op, node, segment));
  const std::string settled = TRY(stored_class(op, node, segment));
  // An earlier, shorter copy that arrives late must not shrink what is known.
  return op.session.exec_later(
      "INSERT INTO segment (node_id, slot, start_us, end_us, class, job_id, epoch, step_from, "
      "step_to, data_wait_us, checkpoint_us, steps, gpu_busy_us) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT (node_id, slot, start_us) DO UPDATE SET end_us = excluded.end_us, "
      "class = excluded.class, step_from = excluded.step_from, step_to = excluded.step_to, "
      "data_wait_us = excluded.data_wait_us, checkpoint_us = excluded.checkpoint_us, "
      "steps = excluded.steps, gpu_busy_us = excluded.gpu_busy_us WHERE excluded.end_us >= "
      "segment.end_us",
      node, segment.slot, segment.start_us, segment.end_us, settled, segment.job, segment.epoch,
      segment.step_from, segment.step_to, segment.data_wait_us, segment.checkpoint_us,
      dump_json(segment.steps.to_json()), segment.gpu_busy_us);
}

}  // namespace

Result<std::vector<Segment>> parse_segments(const Json& array) {
  std::vector<Segment> out;
  if (array.is_null()) return out;
  if (!array.is_array() || array.size() > kMaxSegmentsPerCall) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'segments' must be a list of at most {}", kMaxSegmentsPerCall));
  }
  for (const Json& value : array)
    out.push_back(TRY(parse_segment(value)));
  return out;
}

Status record_segments(Operation& op, const std::string& node, std::int64_t now_us,
                       std::span<const Segment> segments) {
  for (const Segment& segment : segments) {
    if (segment.end_us > now_us) {
      return fail(ErrorCode::kInvalidArgument, "a segment ends after the node's own present");
    }
    // A segment that makes no sense must not cost the lease that it came with; its time shows as
    // unaccounted instead.
    const Status recorded = record_one(op, node, segment);
    if (!recorded && recorded.error().code != ErrorCode::kInvalidArgument) return recorded;
    if (!recorded) LOG_WARN("node {}: {}", node, recorded.error().message);
  }
  return {};
}

Status cover_attempt(Operation& op, const std::string& job, std::int64_t epoch,
                     std::int64_t covered_us) {
  TRY(op.session.exec(
      "UPDATE attempt SET covered_us = ? WHERE job_id = ? AND epoch = ? AND covered_us < ?",
      covered_us, job, epoch, covered_us));
  TRY(
      op.session.exec("UPDATE segment SET class = 'productive' WHERE job_id = ? AND epoch = ? AND "
                      "class = 'run' AND end_us <= ?",
                      job, epoch, covered_us));
  return {};
}

Status settle_attempt(Operation& op, const std::string& job, std::int64_t epoch, bool succeeded) {
  TRY(op.session.exec(
      "UPDATE segment SET class = ? WHERE job_id = ? AND epoch = ? AND class = 'run'",
      succeeded ? "productive" : "lost_work", job, epoch));
  return {};
}

Status forget_beyond(Operation& op, const std::string& job, std::int64_t step,
                     std::int64_t before_epoch) {
  TRY(
      op.session.exec("UPDATE segment SET class = 'lost_work' WHERE job_id = ? AND epoch < ? AND "
                      "class = 'productive' AND step_to > ?",
                      job, before_epoch, step));
  return {};
}

}  // namespace loam::jobs
