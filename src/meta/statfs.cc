// SPDX-License-Identifier: Apache-2.0
#include "meta/statfs.h"

#include <algorithm>

#include "meta/policy.h"

namespace loam::meta {

namespace {

void tighten(std::optional<std::int64_t>& left, const std::optional<std::int64_t>& max,
             std::int64_t used) {
  if (!max) return;
  const std::int64_t room = std::max<std::int64_t>(*max - used, 0);
  left = std::min(left.value_or(room), room);
}

}  // namespace

Result<Space> statfs(db::Session& session, std::int64_t directory) {
  TRY(get_directory(session, directory));
  const Policies policies = TRY(get_policies(session, directory));
  if (policies.quotas.empty()) return Space{.used = TRY(disk_usage(session, kRootInode))};
  Space out{.used = TRY(disk_usage(session, policies.quotas.front().directory))};
  for (const Quota& quota : policies.quotas) {
    const Usage used = TRY(disk_usage(session, quota.directory));
    tighten(out.bytes_left, quota.max_bytes, used.bytes);
    tighten(out.files_left, quota.max_files, used.files);
  }
  return out;
}

}  // namespace loam::meta
