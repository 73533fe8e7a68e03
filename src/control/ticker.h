// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "control/duties.h"
#include "control/services.h"
#include "control/worker_thread.h"

namespace loam::control {

// Advances the lease clock five times a second and, in the same transaction, does what falls due:
// loses silent nodes, expires leases, ends back-offs, keeps this server's duties. `on_change` is
// called, from its thread, when there is something new to claim or to watch.
class Ticker {
 public:
  Ticker(const Services& services, Duties& duties, std::function<void()> on_change);
  void stop() { thread_.stop(); }

 private:
  void round();

  Services services_;
  Duties& duties_;
  std::function<void()> on_change_;
  jobs::LeaseClockAdvancer advancer_;
  std::int64_t next_cleaning_ms_ = 0;
  std::int64_t rounds_ = 0;
  WorkerThread thread_;
};

}  // namespace loam::control
