// SPDX-License-Identifier: Apache-2.0
#include "agent/process_event.h"

#include <fmt/format.h>

#include <utility>

namespace loam::agent {

namespace {

Json encode(const StartedEvent& event) {
  return {{"type", "started"}, {"pid", event.pid}};
}

Json encode(const StartFailedEvent& event) {
  return {{"type", "start_failed"}, {"message", event.message}, {"errno", event.error_number}};
}

Json encode(const ProgressEvent& event) {
  Json steps = Json::array();
  for (const StepMark& mark : event.steps)
    steps.push_back({mark.step, mark.boot_us});
  return {{"type", "progress"},
          {"step", event.step},
          {"steps", std::move(steps)},
          {"data_wait_us", event.data_wait_us},
          {"checkpoint_us", event.checkpoint_us},
          {"boot_us", event.boot_us}};
}

Json encode(const OutputGapEvent& event) {
  return {{"type", "output_gap"}, {"bytes", event.bytes}};
}

Json encode(const ExitedEvent& event) {
  Json out{{"type", "exited"}, {"boot_us", event.boot_us}, {"leftover", event.leftover}};
  if (event.code) out["code"] = *event.code;
  if (event.signal) out["signal"] = *event.signal;
  if (event.oom_killed) out["oom_killed"] = *event.oom_killed;
  if (!event.reason.empty()) out["reason"] = event.reason;
  return out;
}

Json encode(const AliveCommand& command) {
  return {{"type", "alive"}, {"kill_at_boot_us", command.kill_at_boot_us}};
}

Json encode(const TerminateCommand& command) {
  return {{"type", "terminate"}, {"grace_ms", command.grace_ms}, {"reason", command.reason}};
}

Json encode(const KillCommand&) {
  return {{"type", "kill"}};
}

Result<int> narrow_int(const Json& json, std::string_view key) {
  const std::int64_t value = TRY(json_int(json, key));
  if (std::in_range<int>(value)) return static_cast<int>(value);
  return fail(ErrorCode::kDataCorrupt, fmt::format("an event whose '{}' is {}", key, value));
}

Result<std::optional<int>> optional_int(const Json& json, std::string_view key) {
  if (!json.contains(key)) return std::nullopt;
  return TRY(narrow_int(json, key));
}

Result<ProcessEvent> decode_progress(const Json& json) {
  ProgressEvent event;
  event.step = TRY(json_int(json, "step"));
  event.data_wait_us = TRY(json_int(json, "data_wait_us"));
  event.checkpoint_us = TRY(json_int(json, "checkpoint_us"));
  event.boot_us = TRY(json_int(json, "boot_us"));
  const auto steps = json.find("steps");
  if (steps == json.end() || !steps->is_array() || steps->size() > kMaxStepsPerEvent) {
    return fail(ErrorCode::kDataCorrupt, "a progress event without a list of steps");
  }
  for (const Json& mark : *steps) {
    const auto whole = [](const Json& value) {
      return value.is_number_integer() &&
             !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
    };
    const bool good = mark.is_array() && mark.size() == 2 && whole(mark[0]) && whole(mark[1]);
    if (!good) return fail(ErrorCode::kDataCorrupt, "a progress event with a malformed step");
    event.steps.push_back({mark[0].get<std::int64_t>(), mark[1].get<std::int64_t>()});
  }
  return event;
}

Result<ProcessEvent> decode_exited(const Json& json) {
  ExitedEvent event;
  event.code = TRY(optional_int(json, "code"));
  event.signal = TRY(optional_int(json, "signal"));
  if (json.contains("oom_killed")) event.oom_killed = TRY(json_bool(json, "oom_killed", false));
  event.reason = TRY(json_string(json, "reason", ""));
  event.boot_us = TRY(json_int(json, "boot_us"));
  event.leftover = TRY(json_int(json, "leftover", 0));
  return event;
}

}  // namespace

Json to_json(const ProcessEvent& event) {
  return std::visit([](const auto& alternative) { return encode(alternative); }, event);
}

Result<ProcessEvent> process_event_from_json(const Json& json) {
  const std::string type = TRY(json_string(json, "type"));
  if (type == "started") return StartedEvent{TRY(json_int(json, "pid"))};
  if (type == "start_failed") {
    return StartFailedEvent{TRY(json_string(json, "message")),
                            json.contains("errno") ? TRY(narrow_int(json, "errno")) : 0};
  }
  if (type == "progress") return decode_progress(json);
  if (type == "output_gap") return OutputGapEvent{TRY(json_int(json, "bytes"))};
  if (type == "exited") return decode_exited(json);
  return fail(ErrorCode::kDataCorrupt, fmt::format("an event of unknown type '{}'", type));
}

Json to_json(const ProcessCommand& command) {
  return std::visit([](const auto& alternative) { return encode(alternative); }, command);
}

Result<ProcessCommand> process_command_from_json(const Json& json) {
  const std::string type = TRY(json_string(json, "type"));
  if (type == "alive") return AliveCommand{TRY(json_int(json, "kill_at_boot_us"))};
  if (type == "terminate") {
    return TerminateCommand{TRY(json_int(json, "grace_ms")), TRY(json_string(json, "reason"))};
  }
  if (type == "kill") return KillCommand{};
  return fail(ErrorCode::kDataCorrupt, fmt::format("a command of unknown type '{}'", type));
}

}  // namespace loam::agent
