// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/log_limiter.h"
#include "agent/spool_format.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "io/file.h"

namespace loam::agent {

inline constexpr std::string_view kSpoolFileName = "output.spool";
inline constexpr std::int64_t kMaxLogChunkBytes = 256 * kKiB;

// Appends an attempt's output to its spool, within the limits. One writer per file, one thread.
// Nothing here waits: what cannot be written (limit reached, disk full) is counted as a gap.
class LogSpoolWriter {
 public:
  // Makes `directory`/output.spool, which must not exist, and holds an exclusive flock on it.
  // The clock outlives the writer.
  static Result<LogSpoolWriter> create(const std::string& directory, const LogLimits& limits,
                                       const Clock& clock);

  void append(std::string_view bytes);
  // To be called now and then: a gap that is still open is recorded once a second, so that a reader
  // at the end of the file learns about it. Returns the bytes of newly recorded gaps since last
  // time.
  std::int64_t tick();
  // Records an open gap and how the attempt ended. The writer is done with afterwards. Returns what
  // tick() would have returned.
  std::int64_t finish(const Json& end);

 private:
  LogSpoolWriter(io::Fd file, const LogLimits& limits, const Clock& clock);
  bool put(SpoolRecordType type, std::string payload);
  void put_gap();

  io::Fd file_;
  const Clock* clock_;
  LogLimiter limiter_;
  std::int64_t end_;               // length of the file up to the last whole record
  std::int64_t open_gap_ = 0;      // dropped and not yet recorded
  std::int64_t recorded_gap_ = 0;  // recorded and not yet returned by tick()
  std::int64_t last_gap_us_ = 0;
};

// A piece of an attempt's output. Offsets count all bytes that the program wrote, dropped ones too.
struct LogChunk {
  std::int64_t offset = 0;      // of the first byte of `text`
  std::string text;             // at most kMaxLogChunkBytes; may end in the middle of a line
  std::int64_t gap_before = 0;  // dropped bytes directly before `offset`
  std::int64_t first_wall_ms = 0;
  bool last = false;  // nothing follows; such a chunk may be empty
};

// Follows a spool while it is written, and reads what is left of one whose writer was killed.
// For one thread.
class LogSpoolReader {
 public:
  // Starts at the logical offset `from`. kNotFound until the writer has made the file.
  static Result<LogSpoolReader> open(const std::string& directory, std::int64_t from = 0);

  // The next chunk, or nothing when all that is there has been read. The chunk that is marked
  // `last` comes once: after the end record, or when the writer is gone without one (then `end`
  // stays empty) and every whole record has been read. kDataCorrupt when the file is no spool.
  Result<std::optional<LogChunk>> next();

  bool finished() const { return finished_; }
  // What the writer passed to finish().
  const std::optional<Json>& end() const { return end_; }

 private:
  enum class Step { kRecord, kNothingYet, kTorn };
  explicit LogSpoolReader(io::Fd file) : file_(std::move(file)) {}
  Result<Step> peek();
  Result<bool> check_magic();
  bool add_to(LogChunk& chunk);
  bool writer_is_gone() const;

  io::Fd file_;
  std::int64_t position_ = 0;  // in the file, of the next record
  std::int64_t offset_ = 0;    // logical, of the next record
  std::int64_t from_ = 0;      // what lies before is passed over
  std::optional<SpoolRecord> record_;
  std::int64_t record_bytes_ = 0;
  bool finished_ = false;
  std::optional<Json> end_;
};

}  // namespace loam::agent
