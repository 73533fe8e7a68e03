// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/manifest.h"

#include <algorithm>

#include "base/check.h"
#include "fuzz/targets.h"
#include "io/file.h"
#include "jobs/workdir.h"

namespace loam::fuzz {

namespace {

void check_set(std::string_view input) {
  const auto manifest = checkpoint::parse_manifest(input);
  if (!manifest) {
    CHECK(manifest.error().code == ErrorCode::kInvalidArgument ||
          manifest.error().code == ErrorCode::kUnimplemented);
    return;
  }
  CHECK(checkpoint::check_manifest(*manifest).has_value());
  CHECK(manifest->step >= 0 && manifest->total_bytes() >= 0);
  for (const checkpoint::ManifestFile& file : manifest->files)
    CHECK(io::check_relative_path(file.path).has_value() && file.mode <= 0777);
  const std::string text = checkpoint::format_manifest(*manifest);
  const auto again = checkpoint::parse_manifest(text);
  CHECK(again.has_value() && *again == *manifest);
  CHECK(checkpoint::format_manifest(*again) == text);
}

void check_workdir(const Json& json) {
  const auto files = jobs::parse_workdir(json);
  if (!files) {
    CHECK(files.error().code == ErrorCode::kInvalidArgument ||
          files.error().code == ErrorCode::kTooLarge);
    return;
  }
  std::int64_t bytes = 0;
  for (const jobs::WorkdirFile& file : *files) {
    CHECK(io::check_relative_path(file.path).has_value() && file.mode <= 0777);
    bytes += file.size;
  }
  CHECK(bytes <= jobs::kMaxWorkdirBytes);
  // Its name depends on what is in it and not on how it was listed.
  const auto again = jobs::parse_workdir(jobs::workdir_json(*files));
  CHECK(again.has_value() && jobs::workdir_id(*again) == jobs::workdir_id(*files));
}

}  // namespace

void run_manifest(std::string_view input) {
  check_set(input);
  if (const auto json = parse_json(input)) check_workdir(*json);
}

}  // namespace loam::fuzz
