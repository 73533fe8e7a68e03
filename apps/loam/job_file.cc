// SPDX-License-Identifier: Apache-2.0
#include "loam/job_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/encoding.h"
#include "base/nearest.h"
#include "loam/json_text.h"

namespace loam::cli {

namespace {

Error unknown_parameter(const std::string& key, const Json& parameters) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : parameters.items())
    names.push_back(name);
  if (names.empty()) {
    return {ErrorCode::kInvalidArgument,
            fmt::format("-p {}: the job file declares no parameters; add them under 'parameters'",
                        printable(key))};
  }
  const auto nearest = nearest_name(key, names);
  return {ErrorCode::kInvalidArgument,
          nearest
              ? fmt::format("-p {}: the job file declares no such parameter; did you mean '{}'?",
                            printable(key), printable(*nearest))
              : fmt::format("-p {}: the job file declares no such parameter, only: {}",
                            printable(key), printable(fmt::format("{}", fmt::join(names, ", "))))};
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

Status set_parameters(Json& job, const std::vector<std::string>& assignments) {
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("-p {}: write KEY=VALUE", printable(assignment)));
    }
    const std::string key = assignment.substr(0, equals);
    const Json& declared = member_of(job, "parameters");
    if (!declared.is_object() || !declared.contains(key)) {
      return fail(unknown_parameter(key, declared.is_object() ? declared : Json::object()));
    }
    job["parameters"][key] = assignment.substr(equals + 1);
  }
  return {};
}

Result<Json> secret_values(const Json& job, const Environment& environment) {
  Json out = Json::object();
  const Json& names = member_of(job, "secrets");
  if (!names.is_array()) return out;  // anything else is for the server to refuse
  for (const Json& name : names) {
    if (!name.is_string()) continue;
    const auto value = environment(name.get<std::string>());
    if (!value) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'secrets' names {}, which is not set in the environment; export it "
                              "first",
                              printable(name.get<std::string>())));
    }
    out[name.get<std::string>()] = *value;
  }
  return out;
}

Result<std::optional<std::string>> workdir_root(const Json& job, const std::string& job_file) {
  const Json& value = member_of(job, "workdir");
  if (value.is_null()) return std::optional<std::string>();
  if (!value.is_string() || value.get<std::string>().empty()) {
    return fail(ErrorCode::kInvalidArgument, "'workdir' must be the path of a directory");
  }
  std::string path = value.get<std::string>();
  const bool is_id = path.size() == 64 && hex_decode(path).has_value();
  const std::size_t slash = job_file.rfind('/');
  if (!path.starts_with('/') && slash != std::string::npos) {
    path = job_file.substr(0, slash + 1) + path;
  }
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  if (is_directory(path)) return std::optional(path);
  if (is_id) return std::optional<std::string>();
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'workdir': {} is not a directory (it is taken relative to the job file)",
                          printable(path)));
}

}  // namespace loam::cli
