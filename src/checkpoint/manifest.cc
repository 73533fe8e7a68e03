// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/encoding.h"
#include "base/units.h"
#include "io/crc32c.h"
#include "io/file.h"

namespace loam::checkpoint {

namespace {

// Far above any checkpoint, and far below where sums of 100,000 sizes overflow.
constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 46U;

tl::unexpected<Error> refuse(std::string why) {
  return fail(ErrorCode::kInvalidArgument, "checkpoint manifest: " + std::move(why));
}

Status check_file(const ManifestFile& file) {
  TRY_VOID(io::check_relative_path(file.path));
  if (!is_valid_utf8(file.path)) {
    return refuse(fmt::format("the path '{}' is not UTF-8", printable(file.path)));
  }
  if (file.size < 0 || file.size > kMaxFileBytes) {
    return refuse(fmt::format("'{}' cannot have {} bytes", printable(file.path), file.size));
  }
  if (file.mode > 0777U) {
    return refuse(fmt::format("'{}' has mode {:o}, above 0777", printable(file.path), file.mode));
  }
  const std::size_t checksums = TRY(io::parse_checksums(file.crc)).size();
  const auto blocks = static_cast<std::size_t>((file.size + kBlockBytes - 1) / kBlockBytes);
  if (checksums != blocks) {
    return refuse(fmt::format("'{}' has {} blocks and {} checksums", printable(file.path), blocks,
                              checksums));
  }
  return {};
}

Status check_name(const SetManifest& manifest) {
  TRY_VOID(io::check_relative_path(manifest.name));
  if (manifest.name.find('/') != std::string::npos || manifest.name.size() > 240 ||
      manifest.name.ends_with(kRestoreSuffix) || !is_valid_utf8(manifest.name)) {
    return refuse(
        fmt::format("'{}' cannot be the name of a unit", printable(manifest.name.substr(0, 300))));
  }
  return {};
}

Status check_keys(const Json& object, std::span<const std::string_view> known) {
  if (!object.is_object()) return refuse("an object was expected");
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return refuse(fmt::format("'{}' is no key of version {}", printable(key), kManifestVersion));
    }
  }
  return {};
}

Result<unsigned> parse_mode(const std::string& text) {
  unsigned mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (error != std::errc() || end != text.data() + text.size() || text.size() != 4) {
    return refuse(fmt::format("'{}' is no mode of four octal digits", printable(text)));
  }
  return mode;
}

Result<ManifestFile> file_from_json(const Json& json) {
  static constexpr std::array<std::string_view, 4> kKeys = {"path", "size", "mode", "crc"};
  TRY_VOID(check_keys(json, kKeys));
  ManifestFile file;
  file.path = TRY(json_string(json, "path"));
  file.size = TRY(json_int(json, "size"));
  const std::string mode = TRY(json_string(json, "mode"));
  file.mode = TRY(parse_mode(mode));
  file.crc = TRY(json_string(json, "crc"));
  return file;
}

}  // namespace

std::int64_t SetManifest::total_bytes() const {
  return std::accumulate(
      files.begin(), files.end(), std::int64_t{0},
      [](std::int64_t sum, const ManifestFile& file) { return sum + file.size; });
}

Status check_manifest(const SetManifest& manifest) {
  if (manifest.step < 0) return refuse(fmt::format("the step {} is negative", manifest.step));
  TRY_VOID(check_name(manifest));
  if (manifest.files.empty()) return refuse("a set has at least one file");
  if (manifest.files.size() > kMaxSetFiles) {
    return refuse(
        fmt::format("{} files are over the limit of {}", manifest.files.size(), kMaxSetFiles));
  }
  for (const ManifestFile& file : manifest.files)
    TRY_VOID(check_file(file));
  for (std::size_t i = 1; i < manifest.files.size(); ++i) {
    if (manifest.files[i - 1].path >= manifest.files[i].path) {
      return refuse(
          fmt::format("'{}' is out of order or there twice", printable(manifest.files[i].path)));
    }
  }
  // In order, so whatever lies below a path p, beginning with "p/", is one range; a file that is
  // also a directory shows at the start of it.
  for (const ManifestFile& file : manifest.files) {
    const std::string below = file.path + "/";
    const auto next =
        std::lower_bound(manifest.files.begin(), manifest.files.end(), below,
                         [](const ManifestFile& a, const std::string& b) { return a.path < b; });
    if (next != manifest.files.end() && next->path.starts_with(below)) {
      return refuse(fmt::format("'{}' is a file and a directory", printable(file.path)));
    }
  }
  if (manifest.unit == UnitKind::kFile &&
      (manifest.files.size() != 1 || manifest.files[0].path != manifest.name)) {
    return refuse("a unit that is a file has one file, of the unit's name");
  }
  return {};
}

Json manifest_to_json(const SetManifest& manifest) {
  CHECK(check_manifest(manifest));
  Json files = Json::array();
  for (const ManifestFile& file : manifest.files) {
    files.push_back({{"path", file.path},
                     {"size", file.size},
                     {"mode", fmt::format("{:04o}", file.mode)},
                     {"crc", file.crc}});
  }
  return {{"format_version", kManifestVersion},
          {"step", manifest.step},
          {"unit", unit_kind_name(manifest.unit)},
          {"name", manifest.name},
          {"files", std::move(files)}};
}

std::string format_manifest(const SetManifest& manifest) {
  return dump_json(manifest_to_json(manifest));
}

Result<SetManifest> manifest_from_json(const Json& json) {
  const std::int64_t version = TRY(json_int(json, "format_version"));
  if (version != kManifestVersion) {
    return fail(ErrorCode::kUnimplemented,
                fmt::format("checkpoint manifest: version {} is not one that this Loam reads ({})",
                            version, kManifestVersion));
  }
  static constexpr std::array<std::string_view, 5> kKeys = {"format_version", "step", "unit",
                                                            "name", "files"};
  TRY_VOID(check_keys(json, kKeys));
  SetManifest manifest;
  manifest.step = TRY(json_int(json, "step"));
  manifest.name = TRY(json_string(json, "name"));
  const std::string unit = TRY(json_string(json, "unit"));
  if (unit != "file" && unit != "directory") {
    return refuse(fmt::format("'{}' is no kind of unit", printable(unit)));
  }
  manifest.unit = unit == "file" ? UnitKind::kFile : UnitKind::kDirectory;
  const auto files = json.find("files");
  if (files == json.end() || !files->is_array()) return refuse("'files' must be a list");
  if (files->size() > kMaxSetFiles) {
    return refuse(fmt::format("{} files are over the limit of {}", files->size(), kMaxSetFiles));
  }
  for (const Json& file : *files)
    manifest.files.push_back(TRY(file_from_json(file)));
  TRY_VOID(check_manifest(manifest));
  return manifest;
}

Result<SetManifest> parse_manifest(std::string_view text) {
  if (text.size() > static_cast<std::size_t>(kMaxManifestBytes)) {
    return fail(ErrorCode::kTooLarge, fmt::format("checkpoint manifest: {} bytes are over {}",
                                                  text.size(), kMaxManifestBytes));
  }
  const Json json = TRY(parse_json(text));
  return manifest_from_json(json);
}

}  // namespace loam::checkpoint
