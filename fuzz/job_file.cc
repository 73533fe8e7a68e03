// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/encoding.h"
#include "base/json.h"
#include "fuzz/targets.h"
#include "jobs/job_spec.h"

namespace loam::fuzz {

namespace {

using jobs::JobSpec;

bool is_refusal(const Error& error) {
  return !error.message.empty() && is_valid_utf8(error.message) &&
         (error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kUnimplemented ||
          error.code == ErrorCode::kPermissionDenied || error.code == ErrorCode::kTooLarge);
}

// What is stored of a job is the job: read again, it says the same.
void check_spec(const Json& file) {
  const auto spec = jobs::parse_job_spec(file);
  if (!spec) {
    CHECK(is_refusal(spec.error()));
    return;
  }
  CHECK(!spec->command.empty() && spec->max_failures >= 1 && spec->grace_ms >= 0);
  CHECK(spec->heartbeat_ms >= 200 && spec->lease_ttl_ms >= 2 * spec->heartbeat_ms);
  for (const jobs::SyncRule& rule : spec->before)
    CHECK(jobs::check_store_path(rule.from).has_value());
  for (const jobs::SyncRule& rule : spec->after)
    CHECK(jobs::check_store_path(rule.to).has_value());
  const std::string stored = dump_json(spec->to_json());
  const auto loaded = jobs::load_job_spec(stored);
  CHECK(loaded.has_value() && dump_json(loaded->to_json()) == stored);
}

// A number that is used as text keeps the characters that the user wrote.
void check_numeric_text(std::string_view input) {
  if (input.empty() || input.size() > 40 ||
      input.find_first_not_of("0123456789+-.eE") != std::string_view::npos) {
    return;
  }
  const auto file = jobs::job_file_to_json("command: a\narguments: [" + std::string(input) + "]");
  if (!file) return;
  const auto spec = jobs::parse_job_spec(*file);
  // A lone '-' is YAML's list mark.
  CHECK(!spec || (spec->arguments.size() == 1 && spec->arguments[0] == input));
}

}  // namespace

void run_job_file(std::string_view input) {
  check_numeric_text(input);
  if (const auto json = parse_json(input)) check_spec(*json);
  const auto file = jobs::job_file_to_json(input);
  if (!file) {
    CHECK(is_refusal(file.error()));
    return;
  }
  // What came out is plain JSON within the bounds of JSON from outside.
  const auto again = parse_json(dump_json(*file));
  CHECK(again.has_value());
  check_spec(*file);
}

}  // namespace loam::fuzz
