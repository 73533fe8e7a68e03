// SPDX-License-Identifier: Apache-2.0
#include "api/node_body.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace loam::api {

namespace {

Result<std::optional<std::int64_t>> opt_int(const Json& body, std::string_view key) {
  const auto it = body.find(std::string(key));
  if (it == body.end() || it->is_null()) return std::optional<std::int64_t>();
  return std::optional<std::int64_t>(TRY(json_int(body, key)));
}

}  // namespace

Result<jobs::Renewal> parse_renewal(const Json& body) {
  static constexpr std::array<std::string_view, 4> kPhases{"staging", "running", "draining",
                                                           "uploading"};
  jobs::Renewal out;
  out.phase = TRY(json_string(body, "phase"));
  if (std::find(kPhases.begin(), kPhases.end(), out.phase) == kPhases.end()) {
    return fail(ErrorCode::kInvalidArgument, "'phase' is none that a node can report");
  }
  out.resumed_step = TRY(opt_int(body, "resumed_step"));
  out.resumed_set = TRY(json_string(body, "resumed_set", ""));
  out.step = TRY(opt_int(body, "step"));
  out.first_step_ago_us = TRY(opt_int(body, "first_step_ago_us"));
  out.save_cost_us = TRY(opt_int(body, "save_cost_us"));
  out.starved = TRY(json_bool(body, "starved", false));
  out.now_us = TRY(json_int(body, "now_us"));
  out.segments = TRY(jobs::parse_segments(body.value("segments", Json())));
  return out;
}

Result<jobs::FinalReport> parse_final(const Json& body) {
  jobs::FinalReport out;
  out.exit_code = TRY(opt_int(body, "exit_code"));
  out.signal = TRY(opt_int(body, "signal"));
  out.step = TRY(opt_int(body, "step"));
  out.message = TRY(json_string(body, "message", ""));
  out.now_us = TRY(json_int(body, "now_us"));
  out.segments = TRY(jobs::parse_segments(body.value("segments", Json())));
  return out;
}

Result<LeaseHeader> parse_lease_header(std::string_view text) {
  LeaseHeader out;
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + dot, out.epoch);
  if (dot == text.size() || error != std::errc() || end != text.data() + dot) {
    return fail(ErrorCode::kInvalidArgument,
                "this call needs the header 'Loam-Lease: <epoch>.<token>'");
  }
  out.token = text.substr(dot + 1);
  return out;
}

}  // namespace loam::api
