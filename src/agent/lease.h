// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "agent/server_api.h"
#include "agent/timeline.h"
#include "base/clock.h"

namespace loam::agent {

struct LeaseTerms {
  std::string job;
  std::int64_t epoch = 0;
  std::string token;
  std::int64_t slot = 0;
  std::int64_t ttl_ms = 0;
  std::int64_t heartbeat_ms = 0;
  std::int64_t isolation_ms = 0;
  std::int64_t claim_sent_boot_us = 0;  // the lease's time begins when the claim was sent
};

// The node's right to run one job, renewed by a thread of its own, so that no upload and no slow
// disk can delay it. Time is CLOCK_BOOTTIME. Past the deadline, measured from the moment the last
// renewal was *sent*, nothing is published; renewing goes on, and if the server still knows the
// lease it comes back. Once it is lost it stays lost. Any thread.
class Lease {
 public:
  Lease(const ServerApi& api, Timeline& timeline, const Clock& clock, LeaseTerms terms);
  ~Lease();

  const std::string& job() const { return terms_.job; }
  std::int64_t epoch() const { return terms_.epoch; }
  std::int64_t slot() const { return terms_.slot; }
  // "<epoch>.<token>" for the Loam-Lease header.
  std::string header() const;

  bool lost() const { return lost_.load(); }
  bool may_publish() const;
  std::int64_t deadline_boot_us() const { return deadline_boot_us_.load(); }
  // When the program must end: the watchdog is told this. While the agent is well it moves on; past
  // the deadline the program may go on for the isolation limit.
  std::int64_t kill_at_boot_us() const;
  // Blocks until publishing is allowed; false once the lease is lost or `give_up` says so.
  bool wait_until_may_publish(const std::function<bool()>& give_up) const;

  // What renewals tell.
  void set_phase(const std::string& phase);
  void set_resumed(std::int64_t step, const std::string& set);
  // The first step after the start is reported at once, the others with the next renewal.
  void set_step(std::int64_t step, std::int64_t boot_us);
  void set_written_step(std::int64_t step);
  void set_save_cost_us(std::int64_t us);
  void note_starved() { starved_ = true; }
  std::optional<std::int64_t> step() const;
  std::optional<double> advised_interval_s() const;

  // Renews now instead of at the next heartbeat.
  void renew_soon();
  // The lease is over (completed, failed or released): no more renewals.
  void stop();

 private:
  void run();
  void renew();
  Json renewal_body(std::int64_t now_boot_us);

  const ServerApi& api_;
  Timeline& timeline_;
  const Clock& clock_;
  const LeaseTerms terms_;

  std::atomic<std::int64_t> deadline_boot_us_;
  std::atomic<bool> lost_{false};
  std::atomic<bool> starved_{false};

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool stopping_ = false;
  bool soon_ = false;
  bool failing_ = false;  // the last renewal got no answer
  std::string phase_ = "staging";
  std::optional<std::int64_t> resumed_step_;
  std::string resumed_set_;
  std::optional<std::int64_t> step_;
  std::optional<std::int64_t> first_step_boot_us_;
  std::optional<std::int64_t> written_step_;
  std::optional<std::int64_t> save_cost_us_;
  std::optional<double> advised_interval_s_;
  std::thread thread_;
};

}  // namespace loam::agent
