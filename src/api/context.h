// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "base/metrics.h"
#include "control/claim_desk.h"
#include "control/event_hub.h"
#include "control/log_tail.h"
#include "control/nudges.h"
#include "control/peers.h"
#include "control/publisher.h"
#include "control/server_keys.h"
#include "control/server_session.h"
#include "control/services.h"

namespace loam::api {

struct ApiOptions {
  std::string version;
  // What nodes are told when they enrol.
  std::int64_t node_heartbeat_ms = 30'000;
  std::int64_t node_ttl_ms = 75'000;
  // How long a renewal may wait to share a commit with others.
  std::chrono::milliseconds group_commit{50};
};

// What the routes work with; outlives the server that runs them. Any thread.
struct ApiContext {
  const control::Services& services;
  const control::ServerKeys& keys;
  control::EventHub& events;
  control::ClaimDesk& claims;
  control::LogTail& logs;
  control::Nudges& nudges;
  control::Publisher& publisher;
  control::Peers& peers;
  control::ServerSession& session;
  Metrics& metrics;
  ApiOptions options;

  // Tells the watchers, here and at the other servers, that something has changed.
  void changed() const {
    events.poke();
    claims.poke();
    peers.changed();
  }
};

}  // namespace loam::api
