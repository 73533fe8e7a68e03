// SPDX-License-Identifier: Apache-2.0
#include "agent/log_shipper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/log.h"

namespace loam::agent {

namespace {
constexpr std::chrono::milliseconds kShipEvery{1'000};
constexpr std::chrono::milliseconds kPoll{100};
}  // namespace

LogShipper::LogShipper(const ServerApi& api, const Lease& lease, std::string spool_dir)
    : api_(api), lease_(lease), spool_dir_(std::move(spool_dir)), thread_([this] { run(); }) {}

LogShipper::~LogShipper() {
  abandoned_ = true;
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void LogShipper::finish(std::function<bool()> give_up) {
  give_up_ = std::move(give_up);
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void LogShipper::run() {
  while (!abandoned_ && !lease_.lost()) {
    const bool all = ship();
    if (reader_ && reader_->finished() && !unsent_) return;
    if (stopping_) {
      if (give_up_ && give_up_()) return;
      if (!all) std::this_thread::sleep_for(kPoll);
      continue;
    }
    for (auto waited = kPoll; waited < kShipEvery && !stopping_; waited += kPoll) {
      std::this_thread::sleep_for(kPoll);
    }
  }
}

bool LogShipper::ship() {
  if (!reader_) {
    auto opened = LogSpoolReader::open(spool_dir_);
    if (!opened) return false;
    reader_.emplace(std::move(*opened));
  }
  while (!abandoned_ && !lease_.lost()) {
    if (!unsent_) {
      auto chunk = reader_->next();
      if (!chunk) {
        LOG_WARN("the output of {} cannot be read: {}", lease_.job(), chunk.error().to_string());
        return false;
      }
      if (!*chunk) return false;  // nothing new yet
      unsent_ = std::move(**chunk);
    }
    // Past the deadline nothing goes out; the spool keeps it.
    if (!lease_.may_publish()) return false;
    if (const Status sent = send(*unsent_); !sent) {
      LOG_DEBUG("the output of {} was not sent: {}", lease_.job(), sent.error().to_string());
      return false;
    }
    ++next_seq_;
    unsent_.reset();
    if (reader_->finished()) return true;
  }
  return false;
}

Status LogShipper::send(const LogChunk& chunk) {
  std::size_t at = 0;
  ServerApi::Upload upload;
  upload.url = fmt::format("/v1/node/jobs/{}/logs/{}?offset={}&gap={}&at_ms={}&last={}",
                           lease_.job(), next_seq_, chunk.offset, chunk.gap_before,
                           chunk.first_wall_ms, chunk.last ? 1 : 0);
  upload.length = static_cast<std::int64_t>(chunk.text.size());
  upload.source = [&](std::span<std::byte> out) -> Result<std::size_t> {
    const std::size_t n = std::min(out.size(), chunk.text.size() - at);
    std::memcpy(out.data(), chunk.text.data() + at, n);
    at += n;
    return n;
  };
  TRY(api_.put(std::move(upload), {.lease = lease_.header(), .canceled = [this] {
                                     return abandoned_.load() || !lease_.may_publish();
                                   }}));
  return {};
}

}  // namespace loam::agent
