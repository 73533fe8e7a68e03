// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/attempt.h"

namespace loam::jobs {

// A piece of an attempt's output: the bytes are in the store, this row says where and in what
// order.
struct LogChunk {
  std::int64_t seq = 0;
  std::string key;
  std::int64_t start = 0;  // position in the attempt's output
  std::int64_t bytes = 0;
  std::int64_t gap = 0;  // bytes dropped just before this chunk
  std::int64_t at = 0;
  bool last = false;
};

// Idempotent by (job, epoch, seq). The lease is checked in the same transaction.
Status add_log_chunk(Operation& op, const LeaseRef& ref, const LogChunk& chunk);
Result<std::vector<LogChunk>> log_chunks(db::Session& session, const std::string& job,
                                         std::int64_t epoch, std::int64_t from_seq,
                                         std::size_t limit);

}  // namespace loam::jobs
