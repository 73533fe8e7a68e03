// SPDX-License-Identifier: Apache-2.0
#include "agent/log_spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"

namespace loam::agent {

LogSpoolWriter::LogSpoolWriter(io::Fd file, const LogLimits& limits, const Clock& clock)
    : file_(std::move(file)),
      clock_(&clock),
      limiter_(limits, clock.boot_us()),
      end_(static_cast<std::int64_t>(kSpoolMagic.size())) {}

Result<LogSpoolWriter> LogSpoolWriter::create(const std::string& directory, const LogLimits& limits,
                                              const Clock& clock) {
  const std::string path = fmt::format("{}/{}", directory, kSpoolFileName);
  // O_EXCL because two attempts in one spool would be read as one.
  io::Fd file = TRY(io::open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  // Readers take the lock to learn that the writer is gone, even when it was killed.
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(io::error_from_errno(errno, "lock " + path));
  }
  TRY_VOID(
      io::write_all(file.get(), std::as_bytes(std::span(kSpoolMagic.data(), kSpoolMagic.size()))));
  return LogSpoolWriter(std::move(file), limits, clock);
}

bool LogSpoolWriter::put(SpoolRecordType type, std::string payload) {
  const std::string bytes =
      encode_spool_record({type, clock_->boot_us(), clock_->wall_ms(), std::move(payload)});
  const auto length = static_cast<std::int64_t>(bytes.size());
  ssize_t written = 0;
  do {
    written = write(file_.get(), bytes.data(), bytes.size());
  } while (written < 0 && errno == EINTR);
  if (written == length) {
    end_ += length;
    return true;
  }
  // A full disk takes a part of a record; readers must not find it before the next whole one.
  if (written > 0 && ftruncate(file_.get(), end_) != 0) {
    LOG_WARN("the log spool is torn and cannot be mended; its rest is lost");
  }
  return false;
}

void LogSpoolWriter::put_gap() {
  if (open_gap_ == 0) return;
  last_gap_us_ = clock_->boot_us();
  if (!put(SpoolRecordType::kGap, encode_gap(static_cast<std::uint64_t>(open_gap_)))) return;
  recorded_gap_ += open_gap_;
  open_gap_ = 0;
}

void LogSpoolWriter::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kMaxSpoolPayload);
    bytes.remove_prefix(piece.size());
    const LogLimiter::Admission admission = limiter_.admit(piece, clock_->boot_us());
    open_gap_ += static_cast<std::int64_t>(admission.skip);
    std::size_t kept = 0;
    if (admission.keep > 0) {
      put_gap();
      // Text after a gap that could not be recorded would stand at a wrong offset.
      const bool in_order = open_gap_ == 0;
      if (in_order &&
          put(SpoolRecordType::kText, std::string(piece.substr(admission.skip, admission.keep)))) {
        kept = admission.keep;
      }
    }
    open_gap_ += static_cast<std::int64_t>(piece.size() - admission.skip - kept);
  }
}

std::int64_t LogSpoolWriter::tick() {
  // After the total is reached gaps are all that is ever recorded, so they may be longer.
  const std::int64_t period_us = limiter_.exhausted() ? 10'000'000 : 1'000'000;
  if (open_gap_ > 0 && clock_->boot_us() - last_gap_us_ >= period_us) put_gap();
  return std::exchange(recorded_gap_, 0);
}

std::int64_t LogSpoolWriter::finish(const Json& end) {
  put_gap();
  if (!put(SpoolRecordType::kEnd, dump_json(end))) {
    LOG_WARN("the log spool could not be finished; readers take its last whole record for its end");
  }
  file_.reset();
  return std::exchange(recorded_gap_, 0);
}

Result<LogSpoolReader> LogSpoolReader::open(const std::string& directory, std::int64_t from) {
  const std::string path = fmt::format("{}/{}", directory, kSpoolFileName);
  LogSpoolReader reader(TRY(io::open_file(path, O_RDONLY | O_CLOEXEC)));
  reader.from_ = from;
  return reader;
}

bool LogSpoolReader::writer_is_gone() const {
  if (flock(file_.get(), LOCK_SH | LOCK_NB) != 0) return false;
  flock(file_.get(), LOCK_UN);
  return true;
}

// True once the magic is there; an error when the file is something else.
Result<bool> LogSpoolReader::check_magic() {
  std::string magic(kSpoolMagic.size(), '\0');
  const std::size_t got =
      TRY(io::read_at(file_.get(), std::as_writable_bytes(std::span(magic)), 0));
  if (magic.substr(0, got) != kSpoolMagic.substr(0, got)) {
    return fail(ErrorCode::kDataCorrupt, "this file is no log spool of version 1");
  }
  if (got < kSpoolMagic.size()) return false;
  position_ = static_cast<std::int64_t>(kSpoolMagic.size());
  return true;
}

// Reads the next whole record into record_ without moving on.
Result<LogSpoolReader::Step> LogSpoolReader::peek() {
  if (record_) return Step::kRecord;
  if (position_ == 0 && !TRY(check_magic())) return Step::kNothingYet;
  std::string bytes(kSpoolHeaderBytes, '\0');
  std::size_t got =
      TRY(io::read_at(file_.get(), std::as_writable_bytes(std::span(bytes)), position_));
  if (got < bytes.size()) return Step::kNothingYet;
  const auto payload = spool_payload_length(bytes);
  if (!payload) return Step::kTorn;
  bytes.resize(kSpoolHeaderBytes + *payload);
  got = TRY(io::read_at(file_.get(), std::as_writable_bytes(std::span(bytes)), position_));
  if (got < bytes.size()) return Step::kNothingYet;
  record_ = decode_spool_record(bytes);
  if (!record_) return Step::kTorn;
  record_bytes_ = static_cast<std::int64_t>(bytes.size());
  return Step::kRecord;
}

// Takes record_ into the chunk; false if the chunk has to be handed out first.
bool LogSpoolReader::add_to(LogChunk& chunk) {
  std::string_view payload = record_->payload;
  std::int64_t length = static_cast<std::int64_t>(payload.size());
  const bool gap = record_->type == SpoolRecordType::kGap;
  if (gap) {
    // No program writes so much; the offsets of a file that says otherwise stop there.
    constexpr std::int64_t kMostOutput = std::int64_t{1} << 60;
    const auto room = static_cast<std::uint64_t>(std::max<std::int64_t>(kMostOutput - offset_, 0));
    length = static_cast<std::int64_t>(std::min(decode_gap(payload).value_or(0), room));
  }
  const std::int64_t skipped = std::clamp<std::int64_t>(from_ - offset_, 0, length);
  if (skipped < length) {
    if (gap && !chunk.text.empty()) return false;
    const std::int64_t room = kMaxLogChunkBytes - static_cast<std::int64_t>(chunk.text.size());
    if (!gap && length - skipped > room) return false;
    if (chunk.first_wall_ms == 0) chunk.first_wall_ms = record_->wall_ms;
    if (gap) {
      chunk.gap_before += length - skipped;
    } else {
      if (chunk.text.empty()) chunk.offset = offset_ + skipped;
      chunk.text += payload.substr(static_cast<std::size_t>(skipped));
    }
  }
  offset_ += length;
  if (chunk.text.empty()) chunk.offset = std::max(offset_, from_);
  position_ += record_bytes_;
  record_.reset();
  return true;
}

Result<std::optional<LogChunk>> LogSpoolReader::next() {
  if (finished_) return std::nullopt;
  // Asked before reading: what a writer wrote before it went is then certainly seen below.
  const bool gone = writer_is_gone();
  LogChunk chunk;
  chunk.offset = std::max(offset_, from_);
  for (;;) {
    const Step step = TRY(peek());
    if (step == Step::kRecord && record_->type != SpoolRecordType::kEnd) {
      if (!add_to(chunk)) return chunk;
      continue;
    }
    if (step == Step::kRecord) {
      auto parsed = parse_json(record_->payload);
      end_ = parsed ? std::move(*parsed) : Json::object();
    } else if (step == Step::kNothingYet && !gone) {
      if (chunk.text.empty() && chunk.gap_before == 0) return std::nullopt;
      return chunk;
    } else if (step == Step::kTorn) {
      LOG_WARN("a log spool is damaged at byte {}; what follows is lost", position_);
    }
    finished_ = true;
    chunk.last = true;
    return chunk;
  }
}

}  // namespace loam::agent
