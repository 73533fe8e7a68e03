// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "control/services.h"
#include "control/worker_thread.h"
#include "jobs/claim.h"

namespace loam::control {

// Claims that wait for something to claim. Holding them costs no thread; when the queue changes
// they are tried again, many in one transaction, the longest waiting first.
class ClaimDesk {
 public:
  using Outcome = Result<std::optional<jobs::Claimed>>;
  struct Waiting {
    jobs::ClaimRequest request;
    std::chrono::steady_clock::time_point until;
    std::function<bool()> connected;      // false: the node has gone, nothing is claimed for it
    std::function<void(Outcome)> answer;  // called once, from the desk's thread; must not block
  };

  explicit ClaimDesk(const Services& services);
  ~ClaimDesk();
  // Waits until there is a job or the time is over (then: success without a job).
  void wait(Waiting waiting);
  // This node takes no more jobs: its waiting claims are answered without one.
  void dismiss(const std::string& node);
  // The queue may have something new.
  void poke() { thread_.poke(); }
  void stop();
  std::size_t waiting();

 private:
  void round();
  std::vector<Waiting> take_batch(std::size_t limit);
  // Tries a batch in one transaction and answers those that got a job; the rest go back into line.
  // Returns how many were served.
  std::size_t try_batch(std::vector<Waiting> batch);
  bool anything_ready();

  Services services_;
  std::mutex mutex_;
  std::deque<Waiting> line_;
  WorkerThread thread_;
};

}  // namespace loam::control
