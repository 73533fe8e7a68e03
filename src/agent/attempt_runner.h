// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/checkpointer.h"
#include "agent/lease.h"
#include "agent/log_shipper.h"
#include "agent/server_api.h"
#include "agent/stage.h"
#include "agent/supervised.h"
#include "agent/timeline.h"
#include "base/clock.h"
#include "base/random.h"
#include "jobs/job_spec.h"

namespace loam::agent {

// What an attempt runs in.
struct AttemptPlace {
  std::string directory;               // ours alone, fresh: work/, spool/, staging/
  std::vector<std::string> gpu_uuids;  // of this slot
  bool has_gpus = false;               // of the node at all
  std::string node_id;
  WatchdogProgram watchdog;
};

// One attempt from claim to end: stage, restore, run under a watchdog, commit sets, and at the end
// publish, fail or give back. run() blocks until the attempt is over in every respect; nothing of
// it is left then. drain() may be called from any thread.
class AttemptRunner {
 public:
  AttemptRunner(const ServerApi& api, Timeline& timeline, const Clock& clock, Random& random,
                Json claim, LeaseTerms terms, AttemptPlace place);
  void run();
  // The node must go: the program gets SIGTERM now and its grace, its last set is committed, the
  // lease is given back.
  void drain() { draining_ = true; }
  void renew_soon() { lease_.renew_soon(); }
  // The agent ends without waiting for the server any more.
  void abandon() { abandoned_ = true; }
  const std::string& job() const { return lease_.job(); }

 private:
  // How the program ended, or why it never began.
  struct Outcome {
    std::string failure_cause;  // "program", "stalled" or "platform"; empty if it succeeded
    std::string message;
    std::optional<int> exit_code;
    std::optional<int> signal;
    bool drained = false;
  };
  Status prepare();
  Result<ProcessSpec> process_spec() const;
  Outcome run_program();
  void watch(SupervisedProcess& process, Outcome& outcome);
  void on_progress(const ProgressEvent& event);
  // Ends the program early where the lease, a drain or a stall asks for it.
  void check_ending(SupervisedProcess& process);
  void finish(const Outcome& outcome);
  Result<Json> upload_outputs();
  Status upload_output(std::size_t index, Json& outputs);
  void report_end(const std::string& call, Json body);
  Json final_body(const Outcome& outcome) const;
  bool give_up() const { return abandoned_.load(); }

  const ServerApi& api_;
  Timeline& timeline_;
  const Clock& clock_;
  Random& random_;
  const Json claim_;
  const AttemptPlace place_;
  Lease lease_;
  const Transfer transfer_;
  jobs::JobSpec spec_;
  Resumed resumed_;

  std::atomic<bool> draining_{false};
  std::atomic<bool> abandoned_{false};
  bool terminating_ = false;
  bool stalled_ = false;
  std::optional<std::int64_t> last_step_;
  std::int64_t last_step_boot_us_ = 0;
  std::int64_t data_wait_us_ = 0;
  std::int64_t checkpoint_us_ = 0;
  std::unique_ptr<Checkpointer> checkpointer_;
  std::unique_ptr<LogShipper> logs_;
};

}  // namespace loam::agent
