// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/encoding.h"
#include "jobs/job_spec.h"

namespace loam::jobs {

namespace {

constexpr int kMaxDepth = 32;
// Aliases can make a small file expand without end; this bounds what comes out.
constexpr int kMaxNodes = 100'000;

// A plain scalar by YAML 1.2's core schema; a quoted one is text. A number that would not be
// written back as it stands (0755, 1.10, 1e6) stays text, since most of them end up as a program's
// argument; SpecReader takes numbers from text where it needs them.
Json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  if (text == "null" || text == "~" || text.empty()) return nullptr;
  std::int64_t whole = 0;
  if (text.find_first_of(".eExX") == std::string::npos &&
      YAML::convert<std::int64_t>::decode(node, whole) && std::to_string(whole) == text) {
    return whole;
  }
  double number = 0;
  const bool numeric = text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  if (numeric && YAML::convert<double>::decode(node, number) && Json(number).dump() == text) {
    return number;
  }
  return text;
}

Result<Json> convert(const YAML::Node& node, int depth, int& budget) {
  if (depth > kMaxDepth || --budget < 0) {
    return fail(ErrorCode::kInvalidArgument, "the job file is nested too deep or too large");
  }
  // "?" and "!" are what yaml-cpp puts for no tag, on plain and on quoted text.
  if (const std::string& tag = node.Tag(); !tag.empty() && tag != "?" && tag != "!") {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("line {}: tags are not supported, and here is '{}'",
                            node.Mark().line + 1, printable(tag.substr(0, 80))));
  }
  switch (node.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null:
      return Json();
    case YAML::NodeType::Scalar:
      return scalar(node);
    case YAML::NodeType::Sequence: {
      Json out = Json::array();
      for (const YAML::Node& item : node)
        out.push_back(TRY(convert(item, depth + 1, budget)));
      return out;
    }
    case YAML::NodeType::Map: {
      Json out = Json::object();
      for (const auto& item : node) {
        if (!item.first.IsScalar()) {
          return fail(ErrorCode::kInvalidArgument,
                      fmt::format("line {}: a key must be plain text", item.first.Mark().line + 1));
        }
        const std::string& key = item.first.Scalar();
        if (out.contains(key)) {
          return fail(ErrorCode::kInvalidArgument,
                      fmt::format("line {}: the key '{}' appears twice", item.first.Mark().line + 1,
                                  printable(key)));
        }
        out[key] = TRY(convert(item.second, depth + 1, budget));
      }
      return out;
    }
  }
  return Json();
}

}  // namespace

Result<Json> job_file_to_json(std::string_view yaml) {
  if (yaml.size() > kMaxJobFileBytes) {
    return fail(ErrorCode::kTooLarge, "the job file is over 256 KiB");
  }
  // yaml-cpp would read UTF-16 and pass on bytes that are no text, which makes two keys look alike.
  if (!is_valid_utf8(yaml) || yaml.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument, "the job file is not UTF-8 text; save it as UTF-8");
  }
  // yaml-cpp reports by exception; none leaves this function.
  try {
    const YAML::Node root = YAML::Load(std::string(yaml));
    int budget = kMaxNodes;
    return convert(root, 0, budget);
  } catch (const YAML::Exception& problem) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the job file is not valid YAML: {}", printable(problem.what())));
  }
}

}  // namespace loam::jobs
