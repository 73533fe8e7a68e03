// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "jobs/ledger.h"
#include "jobs/operation.h"

namespace loam::jobs {

struct NodeEnrolment {
  std::string name;
  std::string pool;
  std::string machine_id;
  std::int64_t slots = 1;
  Json gpus = Json::array();
  std::string gpu_class;
  double vram_gb = 0;
  std::int64_t price_uusd_hour = 0;  // micro-dollars per hour for the whole node
  std::string version;
  std::int64_t ttl_ms = 0;
};

// Adds a node; its paid time begins. Returns its id.
Result<std::string> enrol_node(Operation& op, const NodeEnrolment& enrolment);

// A sign of life at position `now_us` of the node's timeline. One that was taken for lost is active
// again.
Status touch_node(Operation& op, const std::string& node, std::int64_t now_us);

// No more claims; running attempts end by themselves.
Status drain_node(Operation& op, const std::string& node);
// Paid time ends at `now_us`. kConflict while the node holds a lease.
Status leave_node(Operation& op, const std::string& node, std::int64_t now_us);

// Nodes silent for longer than their TTL become lost; their number. Paid time ends now.
Result<std::int64_t> lose_silent_nodes(Operation& op);

// All nodes, or those not ended, newest first, as the API shows them.
Result<std::vector<Json>> list_nodes(db::Session& session, bool all, std::size_t limit);

}  // namespace loam::jobs
