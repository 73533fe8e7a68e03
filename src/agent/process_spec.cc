// SPDX-License-Identifier: Apache-2.0
#include "agent/process_spec.h"

#include <fmt/format.h>

#include <string_view>

#include "agent/progress.h"
#include "base/encoding.h"

namespace loam::agent {

namespace {

Status check_text(std::string_view field, std::string_view text) {
  // The spec travels as JSON and ends in execve(2): it can hold neither other bytes nor NUL.
  if (is_valid_utf8(text) && text.find('\0') == std::string_view::npos) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} must be UTF-8 without NUL: '{}'", field, printable(text)));
}

Status check_absolute(std::string_view field, std::string_view path) {
  TRY_VOID(check_text(field, path));
  if (path.starts_with('/')) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} must be an absolute path, not '{}'", field, path));
}

template <typename Id>
Result<std::optional<Id>> optional_id(const Json& json, std::string_view key) {
  if (!json.contains(key)) return std::nullopt;
  const std::int64_t value = TRY(json_int(json, key));
  // The last one means "leave it as it is" to the system calls.
  if (value >= 0 && value < std::int64_t{static_cast<Id>(-1)}) return static_cast<Id>(value);
  return fail(ErrorCode::kDataCorrupt,
              fmt::format("the watchdog's order has the {} {}", key, value));
}

Result<LogLimits> limits_from_json(const Json& json) {
  LogLimits limits;
  limits.bytes_per_second = TRY(json_int(json, "log_bytes_per_second"));
  limits.burst_bytes = TRY(json_int(json, "log_burst_bytes"));
  limits.total_bytes = TRY(json_int(json, "log_total_bytes"));
  return limits;
}

}  // namespace

Status check_process_spec(const ProcessSpec& spec) {
  if (spec.command.empty()) return fail(ErrorCode::kInvalidArgument, "the command is empty");
  TRY_VOID(check_text("the command", spec.command));
  for (const std::string& argument : spec.arguments)
    TRY_VOID(check_text("an argument", argument));
  for (const auto& [name, value] : spec.environment) {
    TRY_VOID(check_text("an environment variable's name", name));
    TRY_VOID(check_text("the environment variable " + name, value));
    if (name.empty() || name.find('=') != std::string::npos) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' cannot be the name of an environment variable", name));
    }
  }
  TRY_VOID(check_absolute("work_dir", spec.work_dir));
  TRY_VOID(check_absolute("spool_dir", spec.spool_dir));
  if (!spec.progress_file.empty()) TRY_VOID(check_absolute("progress_file", spec.progress_file));
  TRY_VOID(check_text("the progress pattern", spec.progress_pattern));
  if (const auto matcher = StepMatcher::create(spec.progress_pattern); !matcher) {
    return fail(matcher.error());
  }
  if (spec.grace.count() < 0) return fail(ErrorCode::kInvalidArgument, "grace is negative");
  return {};
}

Json to_json(const WatchdogOrder& order) {
  const ProcessSpec& spec = order.spec;
  Json out{{"command", spec.command},
           {"arguments", spec.arguments},
           {"environment", spec.environment},
           {"work_dir", spec.work_dir},
           {"spool_dir", spec.spool_dir},
           {"grace_ms", spec.grace.count()},
           {"kill_at_boot_us", spec.kill_at_boot_us},
           {"progress_pattern", spec.progress_pattern},
           {"progress_file", spec.progress_file},
           {"log_bytes_per_second", spec.log_limits.bytes_per_second},
           {"log_burst_bytes", spec.log_limits.burst_bytes},
           {"log_total_bytes", spec.log_limits.total_bytes},
           {"cgroup_name", order.cgroup_name}};
  if (spec.uid) out["uid"] = *spec.uid;
  if (spec.gid) out["gid"] = *spec.gid;
  return out;
}

Result<WatchdogOrder> watchdog_order_from_json(const Json& json) {
  WatchdogOrder order;
  ProcessSpec& spec = order.spec;
  spec.command = TRY(json_string(json, "command"));
  const auto arguments = json.find("arguments");
  const auto environment = json.find("environment");
  if (arguments == json.end() || !arguments->is_array() || environment == json.end() ||
      !(environment->is_object() || environment->is_null())) {
    return fail(ErrorCode::kDataCorrupt, "the watchdog's order lacks arguments or environment");
  }
  for (const Json& argument : *arguments) {
    if (!argument.is_string()) return fail(ErrorCode::kDataCorrupt, "an argument is no text");
    spec.arguments.push_back(argument.get<std::string>());
  }
  for (const auto& [name, value] : environment->items()) {
    if (!value.is_string()) return fail(ErrorCode::kDataCorrupt, "a variable is no text");
    spec.environment.emplace(name, value.get<std::string>());
  }
  spec.work_dir = TRY(json_string(json, "work_dir"));
  spec.spool_dir = TRY(json_string(json, "spool_dir"));
  spec.grace = std::chrono::milliseconds(TRY(json_int(json, "grace_ms")));
  spec.kill_at_boot_us = TRY(json_int(json, "kill_at_boot_us"));
  spec.progress_pattern = TRY(json_string(json, "progress_pattern"));
  spec.progress_file = TRY(json_string(json, "progress_file"));
  spec.log_limits = TRY(limits_from_json(json));
  spec.uid = TRY(optional_id<uid_t>(json, "uid"));
  spec.gid = TRY(optional_id<gid_t>(json, "gid"));
  order.cgroup_name = TRY(json_string(json, "cgroup_name"));
  spec.use_cgroup = !order.cgroup_name.empty();
  return order;
}

}  // namespace loam::agent
