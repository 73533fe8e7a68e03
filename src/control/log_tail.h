// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "control/services.h"
#include "control/worker_thread.h"
#include "jobs/log_index.h"
#include "net/http_server.h"

namespace loam::control {

// The text of one chunk, with its gap marked on a line of its own before it.
Result<std::string> log_text(object::ObjectStore& store, const jobs::LogChunk& chunk);
// "[loam: 1234 bytes of output were dropped here]\n"
std::string gap_marker(std::int64_t bytes);

// Followers of job logs: sends new chunks of the present attempt, and of the attempts after it,
// until the job has ended and its last chunk is out. Events: "log" {epoch, seq, at, gap, text},
// then "end" {status}. The id of a "log" event is "<epoch>.<seq>".
class LogTail {
 public:
  struct Follower {
    std::shared_ptr<net::EventStream> stream;
    std::string job;
    std::int64_t epoch = 0;     // attempt to begin with; 0: the latest
    std::int64_t next_seq = 0;  // first chunk of it to send
    bool only_this = false;     // end with this attempt
  };

  explicit LogTail(const Services& services);
  ~LogTail();
  void follow(Follower follower);
  void poke() { thread_.poke(); }
  void stop();

 private:
  struct View {
    std::string job_status;
    std::int64_t latest_epoch = 0;
    std::string attempt_state;
    std::vector<jobs::LogChunk> chunks;
  };
  void round();
  void keep_alive();
  Result<View> look(const Follower& follower);
  bool serve(Follower& follower);

  Services services_;
  std::mutex mutex_;
  std::vector<Follower> followers_;
  int rounds_ = 0;
  WorkerThread thread_;
};

}  // namespace loam::control
