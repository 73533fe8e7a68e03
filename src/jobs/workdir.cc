// SPDX-License-Identifier: Apache-2.0
#include "jobs/workdir.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/path.h"

namespace loam::jobs {

namespace {

Status check_path(std::string_view path) {
  if (path_fault(path, {.max_segment_bytes = 255}) == PathFault::kNone) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is not a path inside a work directory", printable(path)));
}

}  // namespace

Result<std::vector<WorkdirFile>> parse_workdir(const Json& manifest) {
  if (!manifest.is_object() || !manifest.contains("files") || !manifest.at("files").is_array() ||
      manifest.at("files").size() > kMaxWorkdirFiles) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("a work directory needs 'files', a list of at most {}", kMaxWorkdirFiles));
  }
  std::vector<WorkdirFile> files;
  std::int64_t bytes = 0;
  for (const Json& entry : manifest.at("files")) {
    WorkdirFile file;
    file.path = TRY(json_string(entry, "path"));
    file.size = TRY(json_int(entry, "size"));
    file.mode = static_cast<unsigned>(TRY(json_int(entry, "mode", 0644)) & 0777);
    file.sha256 = TRY(json_string(entry, "sha256"));
    TRY_VOID(check_path(file.path));
    if (file.sha256.size() != 64 || !hex_decode(file.sha256) || file.size < 0 ||
        file.size > kMaxWorkdirBytes) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' needs a size and a SHA-256", printable(file.path)));
    }
    bytes += file.size;
    files.push_back(std::move(file));
  }
  if (bytes > kMaxWorkdirBytes) {
    return fail(ErrorCode::kTooLarge,
                "the work directory is over 4 GiB; put data into the store and name it under "
                "sync.before, or list it in .loamignore");
  }
  std::sort(files.begin(), files.end(),
            [](const WorkdirFile& a, const WorkdirFile& b) { return a.path < b.path; });
  for (std::size_t i = 1; i < files.size(); ++i) {
    if (files[i].path == files[i - 1].path) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is listed twice", printable(files[i].path)));
    }
  }
  return files;
}

Json workdir_json(const std::vector<WorkdirFile>& files) {
  Json list = Json::array();
  for (const WorkdirFile& file : files) {
    list.push_back(
        {{"path", file.path}, {"size", file.size}, {"mode", file.mode}, {"sha256", file.sha256}});
  }
  return {{"files", std::move(list)}};
}

std::string workdir_id(const std::vector<WorkdirFile>& files) {
  return sha256_hex(dump_json(workdir_json(files)));
}

Status add_workdir(Operation& op, const std::string& owner, const std::vector<WorkdirFile>& files) {
  std::int64_t bytes = 0;
  for (const WorkdirFile& file : files)
    bytes += file.size;
  const std::string id = workdir_id(files);
  TRY(
      op.session.exec("INSERT INTO workdir (id, manifest, bytes, created_at) VALUES (?, ?, ?, ?) "
                      "ON CONFLICT (id) DO NOTHING",
                      id, dump_json(workdir_json(files)), bytes, op.wall_ms));
  TRY(
      op.session.exec("INSERT INTO workdir_grant (workdir_id, owner) VALUES (?, ?) "
                      "ON CONFLICT DO NOTHING",
                      id, owner));
  return {};
}

Result<std::vector<WorkdirFile>> load_workdir(db::Session& session, const std::string& id) {
  const auto row = TRY(session.row("SELECT manifest FROM workdir WHERE id = ?", id));
  if (!row) return fail(ErrorCode::kNotFound, fmt::format("no work directory {}", id));
  return parse_workdir(TRY(parse_json(row->text(0))));
}

std::string workdir_blob_key(const std::string& sha256) {
  return fmt::format("workdirs/{}/{}", sha256.substr(0, 2), sha256);
}

}  // namespace loam::jobs
