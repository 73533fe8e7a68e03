// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/services.h"
#include "control/worker_thread.h"
#include "net/http_server.h"

namespace loam::control {

// The one reader of the event table in this server: it reads each event once and sends it to every
// subscriber whose filter it passes. Subscribers that fall a megabyte behind are disconnected by
// their stream and come back with Last-Event-ID.
class EventHub {
 public:
  struct Subscription {
    std::shared_ptr<net::EventStream> stream;
    std::optional<std::string> owner;  // only this owner's jobs, and nodes
    std::optional<std::string> job;    // only this job
    std::int64_t after = 0;            // events up to here have been seen
  };

  explicit EventHub(const Services& services);
  ~EventHub();
  void subscribe(Subscription subscription);
  // There may be new events.
  void poke() { thread_.poke(); }
  void stop();
  std::size_t subscribers();

 private:
  void round();
  // Sends what the subscriber has not seen; false once it is gone.
  bool serve(Subscription& subscription, std::int64_t last);
  void keep_alive();

  Services services_;
  std::mutex mutex_;
  std::vector<Subscription> subscriptions_;
  int quiet_rounds_ = 0;
  WorkerThread thread_;
};

}  // namespace loam::control
