// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "control/duties.h"
#include "control/services.h"
#include "control/worker_thread.h"
#include "jobs/publish.h"

namespace loam::control {

// Works off the publishing journal: copies each output of a succeeded attempt to its destination
// and marks it. May die at any point and go on later, on this server or another: a copy is
// idempotent and the last mark and `completed` are one transaction. Of several servers one does it
// (duties.h).
class Publisher {
 public:
  Publisher(const Services& services, Duties& duties, std::function<void()> on_change);
  void poke() { thread_.poke(); }
  void stop() { thread_.stop(); }

 private:
  void round();
  Status publish(const jobs::PendingOutput& output);

  Services services_;
  Duties& duties_;
  std::function<void()> on_change_;
  WorkerThread thread_;
};

}  // namespace loam::control
