// SPDX-License-Identifier: Apache-2.0
#include "control/ticker.h"

#include "base/log.h"
#include "jobs/expire.h"
#include "jobs/idempotency.h"
#include "jobs/node.h"
#include "jobs/queue.h"
#include "jobs/unschedulable.h"

namespace loam::control {

namespace {
constexpr std::chrono::milliseconds kInterval{200};
constexpr std::int64_t kCleaningMs = 3'600'000;
}  // namespace

Ticker::Ticker(const Services& services, Duties& duties, std::function<void()> on_change)
    : services_(services),
      duties_(duties),
      on_change_(std::move(on_change)),
      advancer_(services.clock),
      thread_(kInterval, [this] { round(); }) {}

void Ticker::round() {
  const std::int64_t begun_us = services_.clock.boot_us();
  std::vector<std::string> kept;
  const auto changed = services_.write(
      [&](jobs::Operation& op) -> Result<std::int64_t> {
        op.lease_ms = TRY(advancer_.advance(op.session));
        std::int64_t count = 0;
        kept = TRY(duties_.keep(op));
        // Those that look at every live node are left to each fifth round and to each 25th.
        if (++rounds_ % 5 == 0) count += TRY(jobs::lose_silent_nodes(op));
        count += TRY(jobs::expire_leases(op));
        count += TRY(jobs::ready_due(op));
        if (rounds_ % 25 == 0) count += TRY(jobs::mark_unschedulable(op));
        if (op.lease_ms >= next_cleaning_ms_) {
          TRY_VOID(jobs::forget_old_answers(op));
          next_cleaning_ms_ = op.lease_ms + kCleaningMs;
        }
        return count;
      },
      {.crash_point = false});
  if (!changed) {
    LOG_WARN("the lease clock stands still: {}", changed.error().to_string());
    return;
  }
  duties_.kept(kept, begun_us);
  if (*changed > 0) on_change_();
}

}  // namespace loam::control
