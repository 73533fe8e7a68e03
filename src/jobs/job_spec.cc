// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_spec.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/path.h"
#include "jobs/spec_reader.h"

namespace loam::jobs {

namespace {

constexpr std::int64_t kDayMs = 86'400'000;

// A path inside the work directory: relative, without "..", "." or empty segments but for one
// trailing '/'.
Status check_local_path(std::string_view path) {
  if (path == "." || path == "./") return {};
  const PathRules rules{.directory_slash = true, .max_bytes = 1024, .max_segment_bytes = 255};
  if (path_fault(path, rules) == PathFault::kNone) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' must be a path inside the work directory (relative, no '..')",
                          printable(path)));
}

// RE2 runs in linear time; the memory bound keeps a pattern from blowing up its automaton.
Status check_pattern(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  const RE2 compiled(pattern, options);
  if (!compiled.ok()) {
    return fail(ErrorCode::kInvalidArgument, "the pattern does not compile: " + compiled.error());
  }
  if (compiled.NumberOfCapturingGroups() < 1) {
    return fail(ErrorCode::kInvalidArgument,
                R"(the pattern needs one group for the step, for example step-(\d+))");
  }
  return {};
}

bool is_environment_name(std::string_view name) {
  if (name.empty() || name.size() > 200 || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void check_environment_name(SpecReader& reader, std::string_view key, std::string_view name) {
  if (!is_environment_name(name) || name.starts_with("LOAM_")) {
    reader.refuse(ErrorCode::kInvalidArgument, key,
                  fmt::format("holds '{}', which is not a name an environment variable may have "
                              "(letters, digits, '_'; LOAM_ is reserved)",
                              printable(name.substr(0, 80))));
  }
}

// Replaces each {{name}} by its parameter.
Result<std::string> fill(const std::string& text,
                         const std::map<std::string, std::string>& parameters) {
  std::string out;
  std::size_t at = 0;
  while (true) {
    const std::size_t open = text.find("{{", at);
    if (open == std::string::npos) break;
    const std::size_t close = text.find("}}", open);
    if (close == std::string::npos) break;
    const std::string name = text.substr(open + 2, close - open - 2);
    const auto it = parameters.find(name);
    if (it == parameters.end()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{{{{{}}}}}' names no parameter; declare it under 'parameters'",
                              printable(name.substr(0, 80))));
    }
    out += text.substr(at, open - at) + it->second;
    at = close + 2;
  }
  return out + text.substr(at);
}

class SpecParser {
 public:
  // Stored jobs are filled in already; what looks like a parameter there is the user's own text.
  SpecParser(const Json& input, bool fill_parameters)
      : reader_(input, ""), fill_parameters_(fill_parameters) {}

  Result<JobSpec> parse() {
    reader_.allow({"name", "pool", "workdir", "command", "arguments", "parameters", "environment",
                   "secrets", "resources", "sync", "checkpoint", "progress", "priority", "retry",
                   "heartbeat_interval", "lease_ttl", "grace_period", "isolation_limit"},
                  {"budget", "webhook", "image", "gang", "nodes", "batch", "compression"});
    parameters_ = reader_.text_map("parameters", 200);
    read_program();
    read_sync();
    reader_.object("resources", [&](SpecReader& r) { read_resources(r); });
    reader_.object("checkpoint", [&](SpecReader& r) { read_checkpoint(r); });
    reader_.object("progress", [&](SpecReader& r) { read_progress(r); });
    reader_.object("retry", [&](SpecReader& r) {
      r.allow({"max_failures"});
      spec_.max_failures = r.whole("max_failures", 3, 1, 1000);
    });
    read_times();
    if (!reader_.status()) return fail(reader_.status().error());
    return std::move(spec_);
  }

 private:
  std::string filled(SpecReader& reader, std::string_view key, const std::string& text) {
    if (!fill_parameters_) return text;
    auto out = fill(text, parameters_);
    if (out) return std::move(*out);
    reader.check(key, fail(out.error()));
    return text;
  }

  void read_program() {
    spec_.name = reader_.text("name", "job");
    if (spec_.name.size() > 200) {
      reader_.refuse(ErrorCode::kInvalidArgument, "name", "is over 200 bytes");
    }
    spec_.pool = reader_.text("pool", "any");
    spec_.workdir_id = reader_.text("workdir");
    if (!spec_.workdir_id.empty() &&
        (spec_.workdir_id.size() != 64 || !hex_decode(spec_.workdir_id))) {
      reader_.refuse(ErrorCode::kInvalidArgument, "workdir",
                     "must be the id of an uploaded work directory here; 'loam submit' uploads a "
                     "local one and puts its id in");
    }
    spec_.command = filled(reader_, "command", reader_.required_text("command"));
    for (const std::string& argument : reader_.texts("arguments", 10'000)) {
      spec_.arguments.push_back(filled(reader_, "arguments", argument));
    }
    for (const auto& [name, value] : reader_.text_map("environment", 1'000)) {
      check_environment_name(reader_, "environment", name);
      spec_.environment[name] = filled(reader_, "environment", value);
    }
    spec_.secrets = reader_.texts("secrets", 100);
    for (const std::string& name : spec_.secrets)
      check_environment_name(reader_, "secrets", name);
    spec_.priority = reader_.whole("priority", 0, -1000, 1000);
  }

  void read_sync() {
    reader_.object("sync", [&](SpecReader& sync) {
      sync.allow({"before", "after"}, {"during"});
      sync.objects("before", 100, [&](SpecReader& r) { spec_.before.push_back(rule(r, true)); });
      sync.objects("after", 100, [&](SpecReader& r) { spec_.after.push_back(rule(r, false)); });
    });
  }

  SyncRule rule(SpecReader& reader, bool before) {
    reader.allow({"from", "to"});
    SyncRule out{filled(reader, "from", reader.required_text("from")),
                 filled(reader, "to", reader.required_text("to"))};
    if (!reader.status()) return out;
    reader.check("from", before ? check_store_path(out.from) : check_local_path(out.from));
    reader.check("to", before ? check_local_path(out.to) : check_store_path(out.to));
    return out;
  }

  void read_resources(SpecReader& r) {
    r.allow({"gpus", "gpu_class", "vram_gb", "max_price_per_hour"}, {"cpus", "memory_gb"});
    spec_.resources.gpus = r.whole("gpus", 0, 0, 64);
    spec_.resources.gpu_class = r.texts("gpu_class", 50);
    std::sort(spec_.resources.gpu_class.begin(), spec_.resources.gpu_class.end());
    spec_.resources.vram_gb = r.number("vram_gb", 0, 0, 10'000);
    if (r.has("max_price_per_hour")) {
      spec_.resources.max_price_per_hour = r.number("max_price_per_hour", 0, 0, 1e6);
    }
  }

  void read_checkpoint(SpecReader& r) {
    r.allow({"path", "unit", "match", "complete_when", "marker", "quiet_for", "keep_last"});
    CheckpointRule rule;
    rule.path = r.required_text("path");
    if (r.status()) r.check("path", check_local_path(rule.path));
    rule.unit = r.choice("unit", {"file", "directory"}, "directory");
    rule.match = r.required_text("match");
    if (r.status()) r.check("match", check_pattern(rule.match));
    rule.complete_when = r.choice("complete_when", {"rename", "marker", "quiet"}, "rename");
    rule.marker = r.text("marker");
    if ((rule.complete_when == "marker") != !rule.marker.empty() ||
        rule.marker.find('/') != std::string::npos) {
      r.refuse(ErrorCode::kInvalidArgument, "marker",
               "must be a file name, and goes with complete_when: marker");
    }
    rule.quiet_ms = r.seconds_as_ms("quiet_for", 0, 1'000, kDayMs);
    if ((rule.complete_when == "quiet") != (rule.quiet_ms > 0)) {
      r.refuse(ErrorCode::kInvalidArgument, "quiet_for",
               "must be a number of seconds, and goes with complete_when: quiet");
    }
    rule.keep_last = r.whole("keep_last", 2, 0, 1'000'000);
    spec_.checkpoint = std::move(rule);
  }

  void read_progress(SpecReader& r) {
    r.allow({"pattern", "timeout"});
    ProgressRule rule;
    rule.pattern = r.text("pattern");
    if (!rule.pattern.empty()) r.check("pattern", check_pattern(rule.pattern));
    rule.timeout_ms = r.seconds_as_ms("timeout", 0, 1'000, 30 * kDayMs);
    spec_.progress = std::move(rule);
  }

  void read_times() {
    spec_.heartbeat_ms = reader_.seconds_as_ms("heartbeat_interval", 30'000, 200, 3'600'000);
    spec_.lease_ttl_ms =
        reader_.seconds_as_ms("lease_ttl", spec_.heartbeat_ms * 5 / 2, 500, kDayMs);
    if (spec_.lease_ttl_ms < 2 * spec_.heartbeat_ms) {
      reader_.refuse(
          ErrorCode::kInvalidArgument, "lease_ttl",
          "must be at least twice heartbeat_interval, or one lost renewal loses the job");
    }
    spec_.grace_ms = reader_.seconds_as_ms("grace_period", 60'000, 0, 3'600'000);
    spec_.isolation_ms = reader_.seconds_as_ms("isolation_limit", 3'600'000, 0, 7 * kDayMs);
  }

  SpecReader reader_;
  bool fill_parameters_;
  std::map<std::string, std::string> parameters_;
  JobSpec spec_;
};

Json rules_json(const std::vector<SyncRule>& rules) {
  Json out = Json::array();
  for (const SyncRule& rule : rules)
    out.push_back({{"from", rule.from}, {"to", rule.to}});
  return out;
}

// A duration as the job file writes it: a number of seconds.
Json seconds(std::int64_t ms) {
  return ms % 1000 == 0 ? Json(ms / 1000) : Json(static_cast<double>(ms) / 1e3);
}

}  // namespace

std::string Resources::key(std::string_view pool) const {
  // An ordered map, so that equal requirements have equal text.
  Json out{
      {"pool", std::string(pool)}, {"gpus", gpus}, {"gpu_class", gpu_class}, {"vram_gb", vram_gb}};
  if (max_price_per_hour) out["max_price_per_hour"] = *max_price_per_hour;
  return dump_json(out);
}

Json JobSpec::to_json() const {
  Json out{{"name", name},
           {"pool", pool},
           {"command", command},
           {"arguments", arguments},
           {"environment", environment},
           {"secrets", secrets},
           {"resources",
            {{"gpus", resources.gpus},
             {"gpu_class", resources.gpu_class},
             {"vram_gb", resources.vram_gb}}},
           {"sync", {{"before", rules_json(before)}, {"after", rules_json(after)}}},
           {"priority", priority},
           {"retry", {{"max_failures", max_failures}}},
           {"heartbeat_interval", seconds(heartbeat_ms)},
           {"lease_ttl", seconds(lease_ttl_ms)},
           {"grace_period", seconds(grace_ms)},
           {"isolation_limit", seconds(isolation_ms)}};
  if (!workdir_id.empty()) out["workdir"] = workdir_id;
  if (resources.max_price_per_hour) {
    out["resources"]["max_price_per_hour"] = *resources.max_price_per_hour;
  }
  if (checkpoint) {
    Json rule{{"path", checkpoint->path},
              {"unit", checkpoint->unit},
              {"match", checkpoint->match},
              {"complete_when", checkpoint->complete_when},
              {"keep_last", checkpoint->keep_last}};
    if (!checkpoint->marker.empty()) rule["marker"] = checkpoint->marker;
    if (checkpoint->quiet_ms > 0) rule["quiet_for"] = seconds(checkpoint->quiet_ms);
    out["checkpoint"] = std::move(rule);
  }
  if (progress) {
    out["progress"] = {{"pattern", progress->pattern}};
    if (progress->timeout_ms > 0) out["progress"]["timeout"] = seconds(progress->timeout_ms);
  }
  return out;
}

Result<JobSpec> parse_job_spec(const Json& input) {
  return SpecParser(input, true).parse();
}

Result<JobSpec> load_job_spec(std::string_view stored) {
  const Json input = TRY(parse_json(stored));
  return SpecParser(input, false).parse();
}

Status check_store_path(std::string_view path) {
  const PathRules rules{.absolute = true, .directory_slash = true, .max_bytes = 1000};
  if (path_fault(path, rules) != PathFault::kNone) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' must be an absolute store path without '.', '..' or '//'",
                            printable(path.substr(0, 200))));
  }
  const std::string_view first = path.substr(0, path.find('/', 1));
  if (first == "/jobs" || first == "/.loam" || first == "/workdirs") {
    return fail(ErrorCode::kPermissionDenied,
                fmt::format("'{}' belongs to the server", printable(path.substr(0, 200))));
  }
  return {};
}

}  // namespace loam::jobs
