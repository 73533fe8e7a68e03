// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "agent/lease.h"
#include "agent/timeline.h"
#include "agent/transfer.h"
#include "base/clock.h"
#include "base/random.h"
#include "checkpoint/snapshot.h"
#include "checkpoint/unit.h"

namespace loam::agent {

// Turns complete checkpoint units into committed sets while the program runs. One thread looks for
// units and snapshots the newest at once, so that the program may rotate its files; another hashes,
// uploads and commits one at a time. A newer unit takes the place of one that still waits.
class Checkpointer {
 public:
  struct Options {
    checkpoint::CheckpointSpec spec;
    std::string directory;               // where units appear
    std::string staging;                 // ours, on the same file system if possible
    std::int64_t from_step = 0;          // units up to here were restored, not written
    bool any_step = false;               // nothing was restored: even step 0 counts
    checkpoint::OpenForWriting is_open;  // for units that are complete when quiet
  };
  static Result<std::unique_ptr<Checkpointer>> start(const ServerApi& api, Lease& lease,
                                                     Timeline& timeline, const Clock& clock,
                                                     Random& random, Options options);
  ~Checkpointer();

  // Units snapshotted so far.
  std::int64_t units() const { return units_.load(); }
  // The program has ended: looks once more, commits what is complete, and ends. Gives up when
  // `give_up` says so or the lease is lost. The step of the newest set committed, if any.
  std::optional<std::int64_t> finish(const std::function<bool()>& give_up);

 private:
  struct Waiting {
    checkpoint::Snapshot snapshot;
    std::int64_t covered_us = 0;
  };
  Checkpointer(const ServerApi& api, Lease& lease, Timeline& timeline, Random& random,
               Options options, checkpoint::UnitFinder finder);
  void look_loop();
  void upload_loop();
  void look();
  void offer(Waiting waiting, std::int64_t step);
  Status upload(Waiting& waiting);
  bool give_up() const;

  const ServerApi& api_;
  Lease& lease_;
  Timeline& timeline_;
  Random& random_;
  Options options_;
  checkpoint::UnitFinder finder_;
  std::atomic<std::int64_t> units_{0};
  std::atomic<bool> abandon_{false};

  std::mutex mutex_;
  std::condition_variable wake_;
  bool looking_over_ = false;
  bool stopping_ = false;
  std::optional<Waiting> waiting_;
  std::optional<std::int64_t> newest_taken_;
  std::optional<std::int64_t> newest_committed_;
  int skipped_in_a_row_ = 0;
  std::int64_t snapshots_ = 0;
  std::thread looker_;
  std::thread uploader_;
};

}  // namespace loam::agent
