// SPDX-License-Identifier: Apache-2.0
#include "db/postgres_connector.h"

#include "base/log.h"

namespace loam::db {

namespace {
constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLastPause{500};
// While nobody waits any more, one call in this time tries whether the database is back.
constexpr std::chrono::milliseconds kProbeEvery{200};
}  // namespace

std::optional<std::chrono::milliseconds> PostgresConnector::next_pause(
    std::chrono::milliseconds pause) {
  const std::lock_guard lock(mutex_);
  const Time now = std::chrono::steady_clock::now();
  last_try_ = now;
  if (!missed_since_) {
    missed_since_ = now;
    LOG_WARN("the database does not answer; waiting up to {} ms", patience_.count());
  }
  if (stopping_ || now + pause > *missed_since_ + patience_) return std::nullopt;
  return pause;
}

Result<std::unique_ptr<PostgresConnection>> PostgresConnector::connect() {
  {
    const std::lock_guard lock(mutex_);
    const Time now = std::chrono::steady_clock::now();
    const bool over = missed_since_ && now > *missed_since_ + patience_;
    if (stopping_ || (over && now < last_try_ + kProbeEvery)) {
      return fail(ErrorCode::kUnavailable, "the database does not answer; try again shortly");
    }
    if (over) last_try_ = now;
  }
  for (std::chrono::milliseconds pause = kFirstPause;; pause = std::min(pause * 2, kLastPause)) {
    auto connection = PostgresConnection::open(url_);
    if (connection) {
      const std::lock_guard lock(mutex_);
      if (missed_since_) LOG_INFO("the database answers again");
      missed_since_.reset();
      return connection;
    }
    if (connection.error().code != ErrorCode::kUnavailable) return connection;
    const auto wait = next_pause(pause);
    if (!wait) return connection;
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, *wait, [this] { return stopping_; });
  }
}

void PostgresConnector::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
}

}  // namespace loam::db
