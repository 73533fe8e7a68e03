// SPDX-License-Identifier: Apache-2.0
#include "loam/event_text.h"

#include <fmt/format.h>

#include <array>

#include "base/encoding.h"
#include "base/units.h"
#include "loam/json_text.h"
#include "loam/time_text.h"

namespace loam::cli {

namespace {

std::string files_text(std::int64_t files) {
  return fmt::format("{} file{}", files, files == 1 ? "" : "s");
}

std::string with_message(const std::string& text, const Json& data) {
  const std::string message = text_of(data, "message");
  return message.empty() ? text : text + ": " + message;
}

std::string resumed_text(const Json& data, const std::string& node) {
  if (text_of(data, "set").empty()) {
    return fmt::format("no checkpoint yet: starts from step {} on {}", text_of(data, "step"), node);
  }
  return fmt::format("resumed at step {} on {}", text_of(data, "step"), node);
}

std::string attempt_event(const std::string& type, const Json& data, const std::string& node) {
  if (type == "job.claimed") {
    return fmt::format("attempt {} starts on {}", text_of(data, "epoch"), node);
  }
  if (type == "job.resumed") return resumed_text(data, node);
  if (type == "job.released") {
    return fmt::format("interrupted: {} gave the job back ({})", node, text_of(data, "reason"));
  }
  if (type == "lease.expired") {
    return fmt::format("interrupted: {} is silent; the job goes on from its recovery point", node);
  }
  if (type == "lease.recovered") return fmt::format("{} is back and goes on with the job", node);
  if (type == "attempt.failed") {
    return with_message(fmt::format("the attempt on {} failed ({})", node, text_of(data, "cause")),
                        data);
  }
  if (type == "job.succeeded") {
    return fmt::format("the program succeeded on {}; {} to publish", node,
                       files_text(whole_of(data, "outputs")));
  }
  return "";
}

std::string job_event(const std::string& type, const Json& data) {
  if (type == "job.submitted") return fmt::format("submitted as '{}'", text_of(data, "name"));
  if (type == "job.completed") return "completed";
  if (type == "job.canceled") return "canceled";
  if (type == "job.retried") return "queued again on request";
  if (type == "job.failed") {
    return with_message(fmt::format("failed ({})", text_of(data, "reason", "?")), data);
  }
  return "";
}

std::string checkpoint_event(const std::string& type, const Json& data) {
  const std::string set = text_of(data, "set");
  if (type == "checkpoint.committed") {
    return fmt::format("checkpoint of step {} is safe ({}, {})", text_of(data, "step"),
                       files_text(whole_of(data, "files")), format_bytes(whole_of(data, "bytes")));
  }
  if (type == "checkpoint.bad") {
    return with_message(fmt::format("checkpoint {} did not verify", set), data);
  }
  if (type == "checkpoint.suspect") {
    return fmt::format("checkpoint of step {} is suspect: programs that load it fail",
                       text_of(data, "step"));
  }
  if (type == "checkpoint.pinned") return fmt::format("checkpoint {} is pinned", set);
  if (type == "checkpoint.unpinned") return fmt::format("checkpoint {} is no longer pinned", set);
  return "";
}

std::string node_event(const std::string& type, const Json& data, const std::string& node) {
  if (type == "node.enrolled") {
    return fmt::format("node {} joined the pool {}", text_of(data, "name"), text_of(data, "pool"));
  }
  if (type == "node.returned") return fmt::format("node {} is back", node);
  if (type == "node.draining") return fmt::format("node {} is draining", node);
  if (type == "node.left") return fmt::format("node {} left", node);
  if (type == "node.lost") return fmt::format("node {} was lost", node);
  return "";
}

}  // namespace

std::string event_text(const Json& event, const NodeNamer& node_name) {
  const std::string type = text_of(event, "type");
  const Json& data = member_of(event, "data");
  const std::string id = text_of(event, "node");
  const std::string node = id.empty() ? "a node" : node_name(id);
  for (const std::string& text : {attempt_event(type, data, node), job_event(type, data),
                                  checkpoint_event(type, data), node_event(type, data, node)}) {
    if (!text.empty()) return printable(text);
  }
  return printable(type + (data.empty() ? "" : " " + dump_json(data)));
}

Style event_style(const Json& event) {
  static constexpr std::array<std::pair<std::string_view, Style>, 11> kStyles{{
      {"job.completed", Style::kGood},
      {"job.failed", Style::kBad},
      {"job.canceled", Style::kDim},
      {"job.released", Style::kWarning},
      {"lease.expired", Style::kWarning},
      {"attempt.failed", Style::kBad},
      {"checkpoint.committed", Style::kGood},
      {"checkpoint.bad", Style::kBad},
      {"checkpoint.suspect", Style::kWarning},
      {"node.lost", Style::kBad},
      {"job.resumed", Style::kActive},
  }};
  const std::string type = text_of(event, "type");
  for (const auto& [name, style] : kStyles) {
    if (name == type) return style;
  }
  return Style::kPlain;
}

std::string event_line(const Json& event, const NodeNamer& node_name, bool colour) {
  return fmt::format("{}  {}", styled(clock_text(text_of(event, "at")), Style::kDim, colour),
                     styled(event_text(event, node_name), event_style(event), colour));
}

}  // namespace loam::cli
