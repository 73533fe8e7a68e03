// SPDX-License-Identifier: Apache-2.0
#include "control/grants.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoding.h"
#include "io/file.h"
#include "jobs/checkpoint_set.h"
#include "jobs/workdir.h"

namespace loam::control {

namespace {

// The key of an absolute store path, without a trailing '/'.
std::string key_of(std::string_view path) {
  path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

Result<std::string> input_key(const jobs::JobSpec& spec, const Json& ref) {
  const std::int64_t index = TRY(json_int(ref, "input"));
  const std::string path = TRY(json_string(ref, "path", ""));
  if (index < 0 || index >= static_cast<std::int64_t>(spec.before.size())) {
    return fail(ErrorCode::kPermissionDenied, fmt::format("the job declares no input {}", index));
  }
  const std::string base = key_of(spec.before[static_cast<std::size_t>(index)].from);
  if (path.empty()) return base;
  TRY_VOID(io::check_relative_path(path));
  return base + "/" + path;
}

}  // namespace

Result<std::string> writable_key(const jobs::Lease& lease, const std::string& path) {
  TRY_VOID(io::check_relative_path(path));
  if (!path.starts_with("ckpt/") && !path.starts_with("out/")) {
    return fail(
        ErrorCode::kPermissionDenied,
        fmt::format("a lease may write below ckpt/ and out/ only, not '{}'", printable(path)));
  }
  return lease.prefix + path;
}

Result<std::string> readable_key(db::Session& session, const jobs::Lease& lease,
                                 const jobs::JobSpec& spec, const Json& ref) {
  if (ref.is_object() && ref.contains("workdir")) {
    const std::string sha256 = TRY(json_string(ref, "workdir"));
    for (const jobs::WorkdirFile& file : TRY(jobs::load_workdir(session, spec.workdir_id))) {
      if (file.sha256 == sha256) return jobs::workdir_blob_key(sha256);
    }
    return fail(ErrorCode::kPermissionDenied, "this file is not in the job's work directory");
  }
  if (ref.is_object() && ref.contains("set")) {
    const std::string prefix =
        TRY(jobs::readable_set_prefix(session, lease.job, TRY(json_string(ref, "set"))));
    const std::string path = TRY(json_string(ref, "path"));
    TRY_VOID(io::check_relative_path(path));
    return prefix + path;
  }
  return input_key(spec, ref);
}

Result<InputPage> list_input(object::ObjectStore& store, const jobs::SyncRule& rule,
                             const std::string& after, const std::string& token) {
  const std::string base = key_of(rule.from);
  InputPage page;
  if (after.empty() && !rule.from.ends_with('/')) {
    const auto single = store.head(base);
    if (single) {
      page.files.push_back({"", single->size, single->etag});
      return page;
    }
    if (single.error().code != ErrorCode::kNotFound) return fail(single.error());
  }
  const std::string prefix = base + "/";
  object::ListOptions options{.token = token};
  if (!after.empty()) options.after = prefix + after;
  const object::ListPage listed = TRY(store.list(prefix, options));
  for (const object::ObjectInfo& info : listed.objects) {
    const std::string path = info.key.substr(prefix.size());
    // A name that no file system can hold under the work directory is refused, not skipped.
    TRY_VOID(io::check_relative_path(path));
    page.files.push_back({path, info.size, info.etag});
  }
  if (after.empty() && page.files.empty()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("the input {} does not exist in the store", rule.from));
  }
  if (listed.next_after) page.next_after = listed.next_after->substr(prefix.size());
  page.next_token = listed.token;
  return page;
}

}  // namespace loam::control
