// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "agent/process_event.h"
#include "agent/process_spec.h"
#include "api/node_body.h"
#include "base/check.h"
#include "base/json.h"
#include "fuzz/targets.h"
#include "jobs/step_histogram.h"

namespace loam::fuzz {

namespace {

bool is_refusal(const Error& error) {
  return error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kDataCorrupt;
}

void check_histogram(const jobs::StepHistogram& steps) {
  const auto median = steps.median_us();
  CHECK(steps.count() >= 0 && steps.sum_us() >= 0);
  CHECK(median.has_value() == (steps.count() > 0) && median.value_or(0) >= 0);
  for (const std::int64_t cap :
       {std::int64_t{0}, std::int64_t{1}, 3 * median.value_or(1), INT64_MAX}) {
    const std::int64_t capped = steps.capped_sum_us(cap);
    CHECK(capped >= 0 && capped <= steps.sum_us());
  }
  const auto again = jobs::StepHistogram::from_json(steps.to_json());
  CHECK(!again || again->to_json() == steps.to_json());
}

// The report adds up what many segments say, each of them as large as it may be.
void check_sums(const std::vector<jobs::Segment>& segments) {
  jobs::StepHistogram all;
  for (const jobs::Segment& segment : segments) {
    CHECK(segment.start_us >= 0 && segment.end_us >= segment.start_us);
    const std::int64_t length = segment.end_us - segment.start_us;
    CHECK(segment.data_wait_us >= 0 && segment.checkpoint_us >= 0);
    CHECK(segment.data_wait_us + segment.checkpoint_us <= length);
    check_histogram(segment.steps);
    const std::int64_t before = all.sum_us();
    for (int i = 0; i < 20; ++i)
      all.merge(segment.steps);
    CHECK(all.sum_us() >= before);
    check_histogram(all);
  }
}

void check_bodies(const Json& body) {
  if (!body.is_object()) return;
  const auto renewal = api::parse_renewal(body);
  CHECK(renewal || is_refusal(renewal.error()));
  const auto report = api::parse_final(body);
  CHECK(report || is_refusal(report.error()));
  if (report) check_sums(report->segments);
}

// Between an agent and its watchdog: what one writes the other reads as the same.
void check_watchdog(const Json& json) {
  const auto event = agent::process_event_from_json(json);
  CHECK(event || is_refusal(event.error()));
  if (event) {
    const Json text = agent::to_json(*event);
    for (const auto& [key, value] : text.items()) {
      if (value.is_number() && json.contains(key)) CHECK(json.at(key) == value);
    }
    const auto again = agent::process_event_from_json(text);
    CHECK(again.has_value() && agent::to_json(*again) == text);
  }
  const auto command = agent::process_command_from_json(json);
  CHECK(command || is_refusal(command.error()));
  if (command) {
    const auto again = agent::process_command_from_json(agent::to_json(*command));
    CHECK(again.has_value() && agent::to_json(*again) == agent::to_json(*command));
  }
  const auto order = agent::watchdog_order_from_json(json);
  CHECK(order || is_refusal(order.error()));
  if (!order) return;
  const Json text = agent::to_json(*order);
  const auto again = agent::watchdog_order_from_json(text);
  CHECK(again.has_value() && agent::to_json(*again) == text);
  for (const char* id : {"uid", "gid"}) {
    if (text.contains(id)) CHECK(json.at(id) == text.at(id));
  }
  const Status checked = agent::check_process_spec(order->spec);
  CHECK(checked || is_refusal(checked.error()));
}

}  // namespace

void run_node_protocol(std::string_view input) {
  const auto json = parse_json(input);
  if (!json) return;
  check_bodies(*json);
  if (const auto steps = jobs::StepHistogram::from_json(*json)) {
    check_histogram(*steps);
    CHECK(jobs::StepHistogram::from_json(steps->to_json()).has_value());
  }
  check_watchdog(*json);
}

}  // namespace loam::fuzz
