// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "jobs/operation.h"

namespace loam::jobs {

// The queue holds each job that a node may claim now or after its back-off. Lower classes go first.
inline constexpr std::int64_t kClassInterrupted = 0;  // was running; its lease ended
inline constexpr std::int64_t kClassFresh = 1;

struct QueueEntry {
  std::string job;
  std::string owner;
  std::int64_t shape = 0;
  std::int64_t priority = 0;
  std::int64_t seq = 0;
};

// The id of a requirement (Resources::key), the same for equal text.
Result<std::int64_t> shape_id(Operation& op, const std::string& requirement);

// Puts a job in that is not in it, to be handed out once the lease clock has passed `delay_ms`
// more.
Status enqueue(Operation& op, const QueueEntry& entry, std::int64_t queue_class,
               std::int64_t delay_ms);
Status enqueue_job(Operation& op, const std::string& job, std::int64_t queue_class,
                   std::int64_t delay_ms);
// Takes it out; not being there is fine.
Status dequeue(Operation& op, const std::string& job);
// Makes entries ready whose back-off is over; their number.
Result<std::int64_t> ready_due(Operation& op);

// Whether any job could be handed out now, to some node.
Result<bool> queue_has_ready(db::Session& session);

}  // namespace loam::jobs
