// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent/attempt_runner.h"
#include "agent/gpus.h"
#include "agent/server_api.h"
#include "agent/timeline.h"

namespace loam::agent {

struct NodeOptions {
  std::string server_url;  // or several, comma-separated
  std::string ca_file;     // PEM of the authority behind it in https; empty: the system's
  std::string pool_token;
  std::string name;           // shown to people; the host's name by default
  std::string directory;      // of this node alone; attempts/ below it is emptied at start
  std::int64_t slots = 0;     // 0: one per GPU, or one
  double price_per_hour = 0;  // USD, for the whole node
  std::string version;
  WatchdogProgram watchdog;
};

// The node's job side: enrols, runs one claiming loop per slot, keeps the node alive for the
// server, and drains on request. run() blocks; drain() and stop() may be called from any thread,
// not from a signal handler.
class NodeAgent {
 public:
  NodeAgent(net::HttpClient& http, const Clock& clock, Random& random, NodeOptions options);
  ~NodeAgent();

  // Enrols (waiting for a server that is not there yet) and works until drained or stopped.
  Status run();
  // SIGTERM: no more claims; programs get SIGTERM and their grace, sets are committed, leases given
  // back.
  void drain();
  // At once: programs are ended, nothing more is told to the server.
  void stop();

 private:
  Status enrol();
  Json enrolment() const;
  void slot_loop(std::int64_t slot);
  // One claim that waits for a job; true if it ran one.
  bool claim_and_run(std::int64_t slot);
  void heartbeat_loop();
  bool send_heartbeat();
  // Measures the GPUs of each slot for the ledger.
  void gpu_loop();
  void command_loop();
  void leave();
  bool over() const { return draining_ || stopping_; }
  // Sleeps; false if the node is to end.
  bool pause(std::chrono::milliseconds time);
  std::vector<std::string> slot_gpus(std::int64_t slot) const;

  const Clock& clock_;
  Random& random_;
  NodeOptions options_;
  std::vector<Gpu> gpus_;
  ServerApi api_;
  std::unique_ptr<Timeline> timeline_;
  std::string node_id_;
  std::chrono::milliseconds heartbeat_{10'000};

  std::atomic<bool> draining_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> finished_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<AttemptRunner>> running_;  // by slot
};

}  // namespace loam::agent
