// SPDX-License-Identifier: Apache-2.0
#include "agent/stage.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/log.h"
#include "checkpoint/restore.h"
#include "io/file.h"

namespace loam::agent {

namespace {

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

Status make_parents(const std::vector<DownloadFile>& files) {
  for (const DownloadFile& file : files)
    TRY_VOID(io::make_directories(parent_of(file.local)));
  return {};
}

Status stage_input(const Transfer& transfer, const ServerApi& api, const Lease& lease,
                   const jobs::SyncRule& rule, std::size_t index, const std::string& work_dir) {
  std::string to = work_dir + "/" + rule.to;
  std::string after;
  std::string token;
  while (true) {
    Json page;
    TRY_VOID(transfer.insist([&]() -> Status {
      page = TRY(
          api.get(fmt::format("/v1/node/jobs/{}/inputs/{}?after={}&token={}", lease.job(), index,
                              percent_encode(after, false), percent_encode(token, false)),
                  {.lease = lease.header()}));
      return {};
    }));
    std::vector<DownloadFile> files;
    for (const Json& entry : page.value("files", Json::array())) {
      const std::string path = TRY(json_string(entry, "path"));
      if (!path.empty()) TRY_VOID(io::check_relative_path(path));
      DownloadFile file{.ref = {{"input", index}, {"path", path}},
                        .size = TRY(json_int(entry, "size"))};
      // A single object keeps its name when the rule names a directory to put it in.
      if (!path.empty()) {
        file.local = to + (to.ends_with('/') ? "" : "/") + path;
      } else {
        file.local = to.ends_with('/') ? to + rule.from.substr(rule.from.rfind('/') + 1) : to;
      }
      files.push_back(std::move(file));
    }
    TRY_VOID(make_parents(files));
    TRY_VOID(transfer.download(files));
    after = TRY(json_string(page, "next_after", ""));
    token = TRY(json_string(page, "next_token", ""));
    if (after.empty()) return {};
  }
}

}  // namespace

Status stage_workdir(const Transfer& transfer, const Json& workdir, const std::string& work_dir) {
  if (!workdir.is_object()) return {};
  std::vector<DownloadFile> files;
  for (const Json& entry : workdir.value("files", Json::array())) {
    const std::string path = TRY(json_string(entry, "path"));
    TRY_VOID(io::check_relative_path(path));
    const std::string sha256 = TRY(json_string(entry, "sha256"));
    files.push_back({.ref = {{"workdir", sha256}},
                     .local = work_dir + "/" + path,
                     .size = TRY(json_int(entry, "size")),
                     .mode = static_cast<unsigned>(TRY(json_int(entry, "mode", 0644)) & 0777),
                     .sha256 = sha256});
  }
  TRY_VOID(make_parents(files));
  return transfer.download(files);
}

Status stage_inputs(const Transfer& transfer, const ServerApi& api, const Lease& lease,
                    const jobs::JobSpec& spec, const std::string& work_dir) {
  for (std::size_t i = 0; i < spec.before.size(); ++i) {
    TRY_VOID(stage_input(transfer, api, lease, spec.before[i], i, work_dir));
  }
  return {};
}

Result<Resumed> restore_checkpoint(const Transfer& transfer, const ServerApi& api,
                                   const Lease& lease, const Json& candidates,
                                   const std::string& directory) {
  std::vector<checkpoint::RestoreCandidate> list;
  std::map<std::string, Json> manifests;
  for (const Json& entry : candidates) {
    list.push_back({TRY(json_string(entry, "set")), TRY(json_int(entry, "step"))});
    manifests[list.back().id] = entry.value("manifest", Json());
  }
  if (list.empty()) return Resumed{};
  TRY_VOID(io::make_directories(directory));
  const checkpoint::RestoreSource source{
      .load_manifest =
          [&](const checkpoint::RestoreCandidate& candidate) {
            return checkpoint::manifest_from_json(manifests[candidate.id]);
          },
      .fetch =
          [&](const checkpoint::RestoreCandidate& candidate,
              const checkpoint::SetManifest& manifest, std::size_t index,
              const checkpoint::ByteSink& sink) {
            const checkpoint::ManifestFile& file = manifest.files[index];
            return transfer.fetch({{"set", candidate.id}, {"path", file.path}}, file.size, sink);
          }};
  const checkpoint::RestoreReport report = checkpoint::choose_and_restore(list, source, directory);
  for (const checkpoint::BadCandidate& bad : report.bad) {
    LOG_WARN("set {} (step {}) of {} does not verify: {}", bad.candidate.id, bad.candidate.step,
             lease.job(), bad.error.to_string());
    TRY_VOID(transfer.insist([&]() -> Status {
      TRY(api.post(
          fmt::format("/v1/node/jobs/{}/checkpoints/{}/bad", lease.job(), bad.candidate.id),
          {{"message", bad.error.message}}, {.lease = lease.header()}));
      return {};
    }));
  }
  if (report.error) return fail(*report.error);
  if (!report.restored) return Resumed{};
  return Resumed{report.restored->step, report.restored->id};
}

checkpoint::CheckpointSpec checkpoint_spec(const jobs::CheckpointRule& rule) {
  checkpoint::CheckpointSpec out;
  out.path = rule.path;
  out.unit = rule.unit == "file" ? checkpoint::UnitKind::kFile : checkpoint::UnitKind::kDirectory;
  out.match = rule.match;
  out.marker = rule.marker;
  out.quiet_for = std::chrono::milliseconds(rule.quiet_ms);
  out.complete_when = checkpoint::CompleteWhen::kRename;
  if (rule.complete_when == "marker") out.complete_when = checkpoint::CompleteWhen::kMarker;
  if (rule.complete_when == "quiet") out.complete_when = checkpoint::CompleteWhen::kQuiet;
  return out;
}

}  // namespace loam::agent
