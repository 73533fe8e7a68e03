// SPDX-License-Identifier: Apache-2.0
#include "control/sweeper.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "jobs/checkpoint_set.h"
#include "object/multipart.h"
#include "object/upload_sweep.h"

namespace loam::control {

namespace {
constexpr std::size_t kPage = 64;
// No upload takes a day; one that is older belongs to a process that died.
constexpr std::chrono::hours kUploadAge{24};
constexpr std::int64_t kUploadsEveryUs = 3600LL * 1'000'000;

// Removes all objects under a prefix but those that `keep` wants.
Status remove_below(object::ObjectStore& store, const std::string& prefix,
                    const std::function<bool(const std::string&)>& keep) {
  CHECK(prefix.starts_with("jobs/") && prefix.ends_with('/'));
  return object::for_each_object(store, prefix, [&](const object::ObjectInfo& info) -> Status {
    return keep(info.key) ? Status() : store.remove(info.key);
  });
}
}  // namespace

Sweeper::Sweeper(const Services& services, Duties& duties, SweeperOptions options)
    : services_(services),
      duties_(duties),
      options_(options),
      thread_(options.interval, [this] { round(); }) {}

void Sweeper::round() {
  if (!duties_.take(kDuty)) return;
  if (const Status swept = sweep_sets(); !swept) {
    LOG_WARN("sweeping retired sets failed: {}", swept.error().to_string());
  }
  if (const Status swept = sweep_attempts(); !swept) {
    LOG_WARN("sweeping ended attempts failed: {}", swept.error().to_string());
  }
  if (const Status swept = sweep_uploads(); !swept) {
    LOG_WARN("sweeping unfinished uploads failed: {}", swept.error().to_string());
  }
}

// Listing them costs requests, so not in each round.
Status Sweeper::sweep_uploads() {
  const std::int64_t now_us = services_.clock.boot_us();
  if (now_us < next_uploads_us_) return {};
  next_uploads_us_ = now_us + kUploadsEveryUs;
  const object::SweptUploads swept =
      TRY(object::sweep_uploads(services_.store, "", kUploadAge, /*abort=*/true));
  if (swept.aborted > 0) LOG_INFO("aborted {} unfinished uploads", swept.aborted);
  return {};
}

Status Sweeper::sweep_sets() {
  const auto sets =
      TRY(services_.read([](db::Session& s) { return jobs::retired_sets(s, kPage); }));
  for (const jobs::CheckpointSet& set : sets) {
    if (!go_on()) return {};
    TRY_VOID(remove_below(services_.store, set.prefix, [](const std::string&) { return false; }));
    TRY_VOID(
        services_.write([&](jobs::Operation& op) { return jobs::mark_set_deleted(op, set.id); }));
  }
  return {};
}

Status Sweeper::sweep_attempts() {
  const auto tasks = TRY(services_.read([&](db::Session& session) {
    auto op = jobs::Operation::begin(session, services_.clock, services_.random);
    if (!op) return Result<std::vector<jobs::SweepTask>>(fail(op.error()));
    return jobs::unswept_attempts(*op, options_.grace.count(), kPage);
  }));
  for (const jobs::SweepTask& task : tasks) {
    if (!go_on()) return {};
    TRY_VOID(sweep_attempt(task));
  }
  return {};
}

Status Sweeper::sweep_attempt(const jobs::SweepTask& task) {
  // Nobody can complete these any more, and they are paid for until they are gone.
  if (object::MultipartUploads* uploads = services_.store.multipart()) {
    for (const object::PendingUpload& one : TRY(uploads->list_uploads(task.prefix)))
      TRY_VOID(uploads->abort_upload(one.key, one.upload_id));
  }
  const auto live = TRY(services_.read(
      [&](db::Session& s) { return jobs::live_set_prefixes(s, task.job, task.epoch); }));
  TRY_VOID(remove_below(services_.store, task.prefix, [&](const std::string& key) {
    if (key.starts_with(task.prefix + "log/")) return true;
    return std::any_of(live.begin(), live.end(),
                       [&](const std::string& prefix) { return key.starts_with(prefix); });
  }));
  return services_.write(
      [&](jobs::Operation& op) { return jobs::mark_swept(op, task.job, task.epoch); });
}

}  // namespace loam::control
