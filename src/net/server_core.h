// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

#include "net/http_server.h"
#include "net/route_table.h"
#include "net/worker_lane.h"

namespace loam::net {

// What all connections of one server share; outlives them.
struct ServerCore {
  ServerCore(std::shared_ptr<Router> routes, const HttpServerOptions& server_options)
      : router(std::move(routes)),
        options(server_options),
        control(options.control_threads, options.max_queued_requests),
        transfer(options.transfer_threads, options.max_queued_requests) {}

  WorkerLane& lane(Lane which) { return which == Lane::kControl ? control : transfer; }

  const std::shared_ptr<Router> router;
  const HttpServerOptions options;
  std::atomic<int> connections{0};
  std::atomic<bool> stopping{false};
  WorkerLane control;
  WorkerLane transfer;
};

}  // namespace loam::net
