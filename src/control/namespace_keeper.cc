// SPDX-License-Identifier: Apache-2.0
#include "control/namespace_keeper.h"

#include <algorithm>

#include "base/log.h"
#include "control/meta_operation.h"
#include "meta/change.h"
#include "meta/collect.h"
#include "meta/content.h"
#include "meta/node_session.h"
#include "meta/summary.h"
#include "meta/usage.h"

namespace loam::control {

namespace {

constexpr std::chrono::milliseconds kInterval{500};
constexpr std::chrono::milliseconds kTidyEvery{5'000};
// Rows that one transaction changes at most, so that it holds nobody up for long.
constexpr std::int64_t kBatch = 256;
// A node that was away for longer drops its caches.
constexpr std::int64_t kKeptChanges = 1'000'000;
constexpr db::WriteOptions kQuiet{.crash_point = false};

}  // namespace

NamespaceKeeper::NamespaceKeeper(const Services& services, Duties& duties,
                                 NamespaceKeeperOptions options)
    : services_(services),
      duties_(duties),
      options_(options),
      thread_(kInterval, [this] { round(); }) {}

void NamespaceKeeper::round() {
  if (!duties_.take(kDuty)) return;
  if (const Status folded = fold(); !folded) {
    LOG_WARN("handing usage up failed: {}", folded.error().to_string());
  }
  const std::int64_t now_us = services_.clock.boot_us();
  if (now_us < next_tidy_us_) return;
  next_tidy_us_ = now_us + std::min(kTidyEvery, options_.grace).count() * 1'000;
  if (const Status tidied = tidy(); !tidied) {
    LOG_WARN("tidying the namespace failed: {}", tidied.error().to_string());
  }
  if (const Status collected = collect(); !collected) {
    LOG_WARN("deleting retired objects failed: {}", collected.error().to_string());
  }
}

Status NamespaceKeeper::fold() {
  while (TRY(services_.read(meta::has_unfolded)) && go_on()) {
    TRY(write_meta(
        services_, [](meta::Operation& op) { return meta::fold_usage(op, kBatch); }, kQuiet));
  }
  return {};
}

Status NamespaceKeeper::tidy() {
  const std::int64_t grace_ms = options_.grace.count();
  std::int64_t changed = kBatch;
  // Until a round is less than full.
  while (changed >= kBatch && go_on()) {
    changed = TRY(write_meta(
        services_,
        [&](meta::Operation& op) -> Result<std::int64_t> {
          return std::max({TRY(meta::end_expired_sessions(op, kBatch)),
                           TRY(meta::expire_versions(op, kBatch)),
                           TRY(meta::collect_orphans(op, grace_ms, kBatch)),
                           TRY(meta::trim_changes(op, kKeptChanges, kBatch))});
        },
        kQuiet));
  }
  return {};
}

Status NamespaceKeeper::collect() {
  while (go_on()) {
    const auto gone = TRY(services_.read([&](db::Session& session) {
      const auto lease_ms = jobs::lease_now(session);
      if (!lease_ms) return Result<std::vector<meta::Collectible>>(fail(lease_ms.error()));
      return meta::list_collectible(session, *lease_ms, options_.grace.count(), kBatch);
    }));
    if (gone.empty()) return {};
    std::vector<std::string> keys;
    for (const meta::Collectible& one : gone) {
      if (one.key) keys.push_back(*one.key);
    }
    TRY_VOID(services_.store.remove_all(keys));
    TRY_VOID(write_meta(services_, [&](meta::Operation& op) -> Status {
      for (const meta::Collectible& one : gone) {
        TRY_VOID(meta::finish_deletion(op, one.id));
      }
      return {};
    }));
    LOG_INFO("deleted {} objects that no file needs any more", gone.size());
  }
  return {};
}

}  // namespace loam::control
