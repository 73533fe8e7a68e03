// SPDX-License-Identifier: Apache-2.0
#include "agent/timeline.h"

#include <algorithm>

#include "base/check.h"

namespace loam::agent {

namespace {
// While the server is away segments pile up; past this many the oldest are forgotten and the time
// shows as unaccounted. At one checkpoint a minute this is a week.
constexpr std::size_t kMaxKept = 10'000;
// As many closed segments of a slot as one call carries.
constexpr std::size_t kMaxPerReport = 200;
}  // namespace

Timeline::Timeline(const Clock& clock, std::int64_t slots)
    : clock_(clock), start_boot_us_(clock.boot_us()) {
  CHECK(slots > 0);
  slots_.resize(static_cast<std::size_t>(slots));
}

std::int64_t Timeline::now_us() const {
  return clock_.boot_us() - start_boot_us_;
}

void Timeline::close(Slot& slot, std::int64_t end_us) {
  if (end_us > slot.open.start_us) slot.closed.push_back({slot.open, end_us});
  if (slot.closed.size() > kMaxKept) slot.closed.pop_front();
}

void Timeline::begin(std::int64_t slot, const std::string& segment_class, const std::string& job,
                     std::int64_t epoch) {
  const std::lock_guard lock(mutex_);
  Slot& at = slots_.at(static_cast<std::size_t>(slot));
  const std::int64_t now = now_us();
  close(at, now);
  at.open = Open{.start_us = now, .segment_class = segment_class, .job = job, .epoch = epoch};
}

void Timeline::start_run(std::int64_t slot, std::optional<std::int64_t> from_step) {
  const std::lock_guard lock(mutex_);
  Slot& at = slots_.at(static_cast<std::size_t>(slot));
  const std::int64_t now = now_us();
  close(at, now);
  at.open = Open{.start_us = now,
                 .segment_class = "run",
                 .job = at.open.job,
                 .epoch = at.open.epoch,
                 .step_from = from_step,
                 .step_to = from_step};
}

void Timeline::add_step(std::int64_t slot, std::int64_t step, std::int64_t duration_us) {
  const std::lock_guard lock(mutex_);
  Open& open = slots_.at(static_cast<std::size_t>(slot)).open;
  if (open.segment_class != "run") return;
  const std::int64_t before = open.step_to.value_or(step - 1);
  open.step_to = step;
  // Where a program reports every tenth step, each of the ten took a tenth of the time.
  const std::int64_t count = std::max<std::int64_t>(step - before, 1);
  open.steps.add(std::max<std::int64_t>(duration_us, 0) / count, count);
}

void Timeline::add_program_times(std::int64_t slot, std::int64_t data_wait_us,
                                 std::int64_t checkpoint_us) {
  const std::lock_guard lock(mutex_);
  Open& open = slots_.at(static_cast<std::size_t>(slot)).open;
  if (open.segment_class != "run") return;
  // A report can reach back before the last cut; what does not fit into this segment is left to it.
  const std::int64_t room = now_us() - open.start_us - open.data_wait_us - open.checkpoint_us;
  const std::int64_t save = std::clamp<std::int64_t>(checkpoint_us, 0, room);
  open.checkpoint_us += save;
  open.data_wait_us += std::clamp<std::int64_t>(data_wait_us, 0, room - save);
}

void Timeline::add_gpu_use(std::int64_t slot, std::int64_t busy_us) {
  const std::lock_guard lock(mutex_);
  Open& open = slots_.at(static_cast<std::size_t>(slot)).open;
  // A sample can reach back before the last cut; what does not fit into this segment is left out.
  const std::int64_t busy = open.gpu_busy_us.value_or(0);
  open.gpu_busy_us = std::clamp(busy + busy_us, busy, std::max(busy, now_us() - open.start_us));
}

std::int64_t Timeline::cut(std::int64_t slot) {
  const std::lock_guard lock(mutex_);
  Slot& at = slots_.at(static_cast<std::size_t>(slot));
  const std::int64_t now = now_us();
  close(at, now);
  at.open = Open{.start_us = now,
                 .segment_class = at.open.segment_class,
                 .job = at.open.job,
                 .epoch = at.open.epoch,
                 .step_from = at.open.step_to,
                 .step_to = at.open.step_to};
  return now;
}

Json Timeline::to_json(std::int64_t slot, const Open& segment, std::int64_t end_us) {
  Json out{{"slot", slot},
           {"start_us", segment.start_us},
           {"end_us", end_us},
           {"class", segment.segment_class},
           {"data_wait_us", segment.data_wait_us},
           {"checkpoint_us", segment.checkpoint_us},
           {"steps", segment.steps.to_json()}};
  if (!segment.job.empty()) {
    out["job"] = segment.job;
    out["epoch"] = segment.epoch;
  }
  if (segment.gpu_busy_us) out["gpu_busy_us"] = *segment.gpu_busy_us;
  if (segment.step_from) out["step_from"] = *segment.step_from;
  if (segment.step_to) out["step_to"] = *segment.step_to;
  return out;
}

Timeline::Report Timeline::report(std::optional<std::int64_t> slot) const {
  const std::lock_guard lock(mutex_);
  Report out{.now_us = now_us()};
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    if (slot && *slot != number) continue;
    std::size_t sent = 0;
    for (const Closed& closed : slots_[i].closed) {
      if (++sent > kMaxPerReport) break;
      out.segments.push_back(to_json(number, closed.segment, closed.end_us));
      out.closed.emplace_back(number, closed.segment.start_us);
    }
    // The open one only goes along when nothing before it is missing, so that there is no hole.
    if (sent > kMaxPerReport) continue;
    out.slots.push_back(number);
    if (out.now_us > slots_[i].open.start_us) {
      out.segments.push_back(to_json(number, slots_[i].open, out.now_us));
    }
  }
  return out;
}

void Timeline::acknowledge(const Report& report) {
  const std::lock_guard lock(mutex_);
  for (const auto& [slot, start_us] : report.closed) {
    auto& closed = slots_.at(static_cast<std::size_t>(slot)).closed;
    std::erase_if(closed,
                  [start = start_us](const Closed& c) { return c.segment.start_us == start; });
  }
  for (const std::int64_t slot : report.slots) {
    std::int64_t& known = slots_.at(static_cast<std::size_t>(slot)).acknowledged_us;
    known = std::max(known, report.now_us);
  }
}

std::int64_t Timeline::acknowledged_us() const {
  const std::lock_guard lock(mutex_);
  return std::min_element(
             slots_.begin(), slots_.end(),
             [](const Slot& a, const Slot& b) { return a.acknowledged_us < b.acknowledged_us; })
      ->acknowledged_us;
}

}  // namespace loam::agent
