// SPDX-License-Identifier: Apache-2.0
#include "control/uploads.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/encoding.h"
#include "base/log.h"
#include "base/parallel.h"
#include "checkpoint/manifest.h"
#include "checkpoint/retention.h"
#include "io/file.h"
#include "jobs/job_spec.h"
#include "jobs/job_view.h"

namespace loam::control {

namespace {

constexpr std::size_t kVerifiers = 32;
// Fewer objects than this are not worth the threads.
constexpr std::size_t kFew = 64;
constexpr std::size_t kMostFiles = 100'000;

Status verify_one(object::ObjectStore& store, const ExpectedObject& expected) {
  const auto info = store.head(expected.key);
  if (!info) {
    if (info.error().code != ErrorCode::kNotFound) return fail(info.error());
    return fail(ErrorCode::kConflict, fmt::format("{} was not uploaded", printable(expected.key)));
  }
  if (info->size != expected.size || info->etag != expected.etag) {
    return fail(ErrorCode::kConflict,
                fmt::format("{} is not what was uploaded ({} bytes in the store, {} announced)",
                            printable(expected.key), info->size, expected.size));
  }
  return {};
}

Result<jobs::Lease> lease_now(const Services& services, const jobs::LeaseRef& ref) {
  return services.read([&](db::Session& session) -> Result<jobs::Lease> {
    jobs::Operation op = TRY(jobs::Operation::begin(session, services.clock, services.random));
    return jobs::check_lease(op, ref);
  });
}

Status check_set_id(const std::string& set) {
  const bool good =
      set.size() >= 8 && set.size() <= 64 &&
      set.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  if (good) return {};
  return fail(ErrorCode::kInvalidArgument,
              "'set' must be 8 to 64 lower-case letters, digits and '-'");
}

checkpoint::SetState set_state(const std::string& name) {
  if (name == "bad") return checkpoint::SetState::kBad;
  return name == "suspect" ? checkpoint::SetState::kSuspect : checkpoint::SetState::kGood;
}

Status retain(const Services& services, const std::string& job) {
  return services.write([&](jobs::Operation& op) -> Status {
    const Json view = TRY(jobs::job_view(op.session, job, std::nullopt, /*with_spec=*/true));
    const jobs::JobSpec spec = TRY(jobs::load_job_spec(dump_json(view.at("spec"))));
    std::vector<checkpoint::CommittedSet> sets;
    for (const jobs::CheckpointSet& set : TRY(jobs::list_sets(op.session, job))) {
      if (set.state == "retired" || set.state == "deleted") continue;
      sets.push_back({set.id, set.step, set.pinned, set_state(set.state)});
    }
    // The list is newest first; retention takes sets in the order in which they were committed.
    std::reverse(sets.begin(), sets.end());
    const std::int64_t keep = spec.checkpoint ? spec.checkpoint->keep_last : 2;
    return jobs::retire_sets(op, checkpoint::choose_sets_to_delete(sets, keep));
  });
}

struct ParsedOutputs {
  std::vector<ExpectedObject> expected;
  std::vector<jobs::OutputFile> files;
  std::vector<std::string> paths;  // destinations as store paths
};

// Where an output goes: a directory's files keep their relative path below `to`; a single file
// takes `to` as its name unless that ends in '/'.
std::string destination(const jobs::SyncRule& rule, const std::string& path, bool single) {
  if (single && !rule.to.ends_with('/')) return rule.to;
  return rule.to + (rule.to.ends_with('/') ? "" : "/") + path;
}

Result<ParsedOutputs> parse_outputs(const jobs::Lease& lease, const jobs::JobSpec& spec,
                                    const Json& body) {
  ParsedOutputs out;
  const Json list = body.value("outputs", Json::array());
  if (!list.is_array() || list.size() > kMostFiles) {
    return fail(ErrorCode::kInvalidArgument, "'outputs' must be a list of at most 100000");
  }
  for (const Json& entry : list) {
    const std::int64_t index = TRY(json_int(entry, "index"));
    const std::string path = TRY(json_string(entry, "path"));
    if (index < 0 || index >= static_cast<std::int64_t>(spec.after.size())) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("there is no sync.after[{}]", index));
    }
    TRY_VOID(io::check_relative_path(path));
    const jobs::SyncRule& rule = spec.after[static_cast<std::size_t>(index)];
    const std::string to = destination(rule, path, TRY(json_bool(entry, "single", false)));
    const ExpectedObject object{fmt::format("{}out/{}/{}", lease.prefix, index, path),
                                TRY(json_int(entry, "size")), TRY(json_string(entry, "etag"))};
    out.files.push_back({object.key, to.substr(1), object.size, object.etag});
    out.paths.push_back(to);
    out.expected.push_back(object);
  }
  return out;
}

}  // namespace

Status verify_objects(object::ObjectStore& store, const std::vector<ExpectedObject>& expected) {
  const std::size_t threads = expected.size() < kFew ? 1 : kVerifiers;
  return run_parallel(expected.size(), threads,
                      [&](std::size_t i) { return verify_one(store, expected[i]); });
}

Status commit_checkpoint(const Services& services, const jobs::LeaseRef& ref, const Json& body) {
  const jobs::Lease lease = TRY(lease_now(services, ref));
  jobs::SetCommit commit;
  commit.id = TRY(json_string(body, "set"));
  TRY_VOID(check_set_id(commit.id));
  commit.step = TRY(json_int(body, "step"));
  commit.covered_us = TRY(json_int(body, "covered_us"));
  const Json manifest_json = body.value("manifest", Json());
  const checkpoint::SetManifest manifest = TRY(checkpoint::manifest_from_json(manifest_json));
  if (manifest.step != commit.step || commit.step < 0) {
    return fail(ErrorCode::kInvalidArgument, "'step' and the manifest's step differ");
  }
  const Json etags = body.value("etags", Json());
  if (!etags.is_array() || etags.size() != manifest.files.size()) {
    return fail(ErrorCode::kInvalidArgument, "'etags' must have one entry for each file");
  }
  const std::string prefix = jobs::set_prefix(lease, commit.step, commit.id);
  std::vector<ExpectedObject> expected;
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    if (!etags[i].is_string()) return fail(ErrorCode::kInvalidArgument, "'etags' must hold text");
    expected.push_back(
        {prefix + manifest.files[i].path, manifest.files[i].size, etags[i].get<std::string>()});
    commit.bytes += manifest.files[i].size;
  }
  commit.files = static_cast<std::int64_t>(manifest.files.size());
  commit.unit = manifest.name;
  commit.manifest = dump_json(manifest_json);
  TRY_VOID(verify_objects(services.store, expected));
  TRY_VOID(services.write([&](jobs::Operation& op) { return jobs::commit_set(op, ref, commit); }));
  // The set is committed whatever becomes of the older ones; they are looked at again next time.
  if (const Status kept = retain(services, ref.job); !kept) {
    LOG_WARN("retention of {} failed: {}", ref.job, kept.error().to_string());
  }
  return {};
}

Status complete_job(const Services& services, const jobs::LeaseRef& ref, const Json& body,
                    const jobs::FinalReport& report,
                    const std::function<Status(jobs::Operation&, const jobs::Lease&,
                                               const std::string&)>& may_write) {
  const auto lease = lease_now(services, ref);
  ParsedOutputs outputs;
  if (lease) {
    const jobs::JobSpec spec = TRY(services.read([&](db::Session& s) -> Result<jobs::JobSpec> {
      const Json view = TRY(jobs::job_view(s, ref.job, std::nullopt, /*with_spec=*/true));
      return jobs::load_job_spec(dump_json(view.at("spec")));
    }));
    outputs = TRY(parse_outputs(*lease, spec, body));
    TRY_VOID(verify_objects(services.store, outputs.expected));
  }
  // Without a lease this may be a repeat of a call that succeeded; the operation tells.
  return services.write([&](jobs::Operation& op) -> Status {
    for (const std::string& path : outputs.paths)
      TRY_VOID(may_write(op, *lease, path));
    return jobs::complete_attempt(op, ref, report, outputs.files);
  });
}

}  // namespace loam::control
