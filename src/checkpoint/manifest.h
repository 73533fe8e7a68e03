// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/unit.h"

namespace loam::checkpoint {

inline constexpr std::int64_t kManifestVersion = 1;
inline constexpr std::size_t kMaxSetFiles = 100'000;
inline constexpr std::int64_t kMaxManifestBytes = std::int64_t{256} << 20U;

// One file of a set. `path` is relative to the unit; for a unit that is a file it is the unit's
// name.
struct ManifestFile {
  std::string path;
  std::int64_t size = 0;
  unsigned mode = 0644;  // permission bits, at most 0777
  std::string crc;       // io::format_checksums, one per 4 MiB block

  bool operator==(const ManifestFile&) const = default;
};

// What a checkpoint set consists of; docs/formats/checkpoint-manifest.md. Files ascend by bytes of
// the path.
struct SetManifest {
  std::int64_t step = 0;
  UnitKind unit = UnitKind::kDirectory;
  std::string name;  // of the unit
  std::vector<ManifestFile> files;

  std::int64_t total_bytes() const;
  bool operator==(const SetManifest&) const = default;
};

// Everything that a reader may rely on; kInvalidArgument says what does not hold. The writers below
// CHECK it, the readers enforce it.
Status check_manifest(const SetManifest& manifest);

Json manifest_to_json(const SetManifest& manifest);
std::string format_manifest(const SetManifest& manifest);
// Strict: an unknown key is kInvalidArgument, another version kUnimplemented.
Result<SetManifest> manifest_from_json(const Json& json);
Result<SetManifest> parse_manifest(std::string_view text);

}  // namespace loam::checkpoint
