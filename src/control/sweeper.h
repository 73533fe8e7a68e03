// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "control/duties.h"
#include "control/services.h"
#include "control/worker_thread.h"
#include "jobs/sweep.h"

namespace loam::control {

struct SweeperOptions {
  // How long an ended attempt's prefix is left alone, by the lease clock. Longer than any upload
  // that may still be on its way.
  std::chrono::milliseconds grace{3'600'000};
  std::chrono::milliseconds interval{10'000};
};

// Deletes what nothing refers to any more: the objects of retired sets, and below the prefix of an
// ended attempt everything but live sets and logs. It only ever deletes below prefixes that the
// database says belonged to an attempt that is over. Of several servers one does it (duties.h).
class Sweeper {
 public:
  static constexpr const char* kDuty = "sweep";
  Sweeper(const Services& services, Duties& duties, SweeperOptions options);
  void poke() { thread_.poke(); }
  void stop() { thread_.stop(); }

 private:
  void round();
  bool go_on() { return !thread_.stopping() && duties_.holds(kDuty); }
  Status sweep_sets();
  Status sweep_attempts();
  Status sweep_uploads();
  Status sweep_attempt(const jobs::SweepTask& task);

  Services services_;
  Duties& duties_;
  SweeperOptions options_;
  std::int64_t next_uploads_us_ = 0;  // by the boot clock; at once after a start
  WorkerThread thread_;
};

}  // namespace loam::control
