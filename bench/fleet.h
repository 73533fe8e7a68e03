// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "http_swarm.h"

namespace loam::bench {

// What the renewal phase saw.
struct RenewalRun {
  std::vector<std::int64_t> renewals_us;    // latency of each
  std::vector<std::int64_t> heartbeats_us;  // likewise
  std::vector<std::int64_t> lateness_us;    // of this program itself: from due to sent
  double window_s = 0;
  double server_cpu_s = 0;
};

// Simulated nodes of one slot each that say what `loam node` says; node i speaks over connection i
// of the swarm. Every answer is checked.
class Fleet {
 public:
  Fleet(HttpSwarm& swarm, std::size_t nodes) : swarm_(swarm), nodes_(nodes) {}

  // Each returns the seconds that it took, with at most `width` calls in the air.
  Result<double> enrol(const std::string& pool_token, std::size_t width);
  // As many jobs as nodes, `batch` in a call.
  Result<double> submit(const std::string& admin_token, std::size_t batch, std::size_t width);
  Result<double> claim(std::size_t width);

  // Each node renews at the job's heartbeat interval, evenly spread, and sends a heartbeat when it
  // has been silent for as long as the server said. What is sent from `warm_s` on, for `seconds`,
  // is measured, and the server's CPU time over just that window.
  Result<RenewalRun> renew(double warm_s, double seconds, int server_pid);

  std::int64_t renew_every_ms() const { return renew_ms_; }
  std::int64_t heartbeat_every_ms() const { return heartbeat_ms_; }

 private:
  struct Node {
    std::string token;
    std::string job;
    std::string lease;  // the header's line
    std::int64_t epoch = 0;
    std::int64_t enrolled_us = 0;
    std::int64_t running_us = 0;  // on the node's timeline
    std::int64_t next_renewal_us = 0;
  };
  struct Window {
    std::int64_t start_us = 0;
    std::int64_t end_us = 0;
    bool has(std::int64_t us) const { return us >= start_us && us < end_us; }
  };

  // Calls `start(i)` for each i below `count`, `width` at a time, until all are answered.
  template <typename Start>
  Result<double> all(std::size_t count, std::size_t width, Start start);
  Status enrolled(std::size_t index, const Answer& answer);
  Status claimed(std::size_t index, const Answer& answer);
  // The parts that renewals and heartbeats share: "now_us" and "segments".
  std::string report(const Node& node, std::int64_t now) const;
  Status send_renewal(std::size_t index, bool measured, RenewalRun& run);
  Status send_heartbeat(std::size_t index, bool measured, RenewalRun& run);

  HttpSwarm& swarm_;
  SystemRandom random_;
  std::vector<Node> nodes_;
  std::int64_t heartbeat_ms_ = 0;
  std::int64_t renew_ms_ = 0;
};

}  // namespace loam::bench
