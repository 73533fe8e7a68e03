// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "control/duties.h"
#include "control/services.h"
#include "control/worker_thread.h"

namespace loam::control {

struct NamespaceKeeperOptions {
  // How long what is retired stays in the store, by the lease clock: longer than any URL of it that
  // was given out, and than what a server reads before it says so (ServerSession::Hold).
  std::chrono::milliseconds grace{3'600'000};
};

// The namespace's own work: hands usage up (twice a second, so that du is at most a second old),
// ends sessions, forgets old versions and changes, and deletes from the store what no file needs
// any more. It deletes only keys of rows that say so. Of several servers one does it (duties.h).
class NamespaceKeeper {
 public:
  static constexpr const char* kDuty = "namespace";
  NamespaceKeeper(const Services& services, Duties& duties, NamespaceKeeperOptions options);
  void stop() { thread_.stop(); }

 private:
  void round();
  bool go_on() { return !thread_.stopping() && duties_.holds(kDuty); }
  Status fold();
  Status tidy();
  Status collect();

  Services services_;
  Duties& duties_;
  NamespaceKeeperOptions options_;
  std::int64_t next_tidy_us_ = 0;  // by the boot clock
  WorkerThread thread_;
};

}  // namespace loam::control
