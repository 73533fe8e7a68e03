// SPDX-License-Identifier: Apache-2.0
#include "db/postgres_broadcast.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "base/encoding.h"
#include "base/log.h"

namespace loam::db {

namespace {
// Beyond this many the oldest hints matter least, since their receivers look for themselves anyway.
constexpr std::size_t kMostOutgoing = 1'000;
constexpr std::size_t kMostBytes = 4'000;  // NOTIFY takes less than 8,000, and hex doubles it
constexpr int kPollMs = 1'000;
// The channel is named after the schema, so that installations in one database do not hear one
// another. Messages are in hex, since NOTIFY takes text only.
constexpr const char* kListen =
    "SELECT set_config('loam.channel', 'loam_' || current_schema(), false)";
}  // namespace

PostgresBroadcast::PostgresBroadcast(std::string url)
    : connector_(std::move(url), std::chrono::milliseconds(0)), wake_(eventfd(0, EFD_CLOEXEC)) {
  CHECK(wake_ >= 0);
  thread_ = std::thread([this] { run(); });
}

PostgresBroadcast::~PostgresBroadcast() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  connector_.stop();
  eventfd_write(wake_, 1);
  thread_.join();
  close(wake_);
}

void PostgresBroadcast::send(std::string message) {
  if (message.size() > kMostBytes) return;
  {
    const std::lock_guard lock(mutex_);
    // The same hint twice says nothing more.
    if (std::find(outgoing_.begin(), outgoing_.end(), message) != outgoing_.end()) return;
    if (outgoing_.size() >= kMostOutgoing) outgoing_.erase(outgoing_.begin());
    outgoing_.push_back(std::move(message));
  }
  eventfd_write(wake_, 1);
}

void PostgresBroadcast::set_handler(std::function<void(const std::string&)> handler) {
  const std::lock_guard lock(handler_mutex_);
  handler_ = std::move(handler);
}

bool PostgresBroadcast::stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

std::vector<std::string> PostgresBroadcast::take_outgoing() {
  const std::lock_guard lock(mutex_);
  return std::exchange(outgoing_, {});
}

void PostgresBroadcast::pause() {
  pollfd ready{.fd = wake_, .events = POLLIN, .revents = 0};
  poll(&ready, 1, kPollMs);
  eventfd_t count = 0;
  if ((ready.revents & POLLIN) != 0) eventfd_read(wake_, &count);
}

void PostgresBroadcast::run() {
  while (!stopping()) {
    auto connection = connector_.connect();
    if (!connection) {
      take_outgoing();
      pause();
      continue;
    }
    // A hint is not worth a wait for the disk.
    const auto ready = [&]() -> Status {
      TRY((*connection)->query_once("SET synchronous_commit = off"));
      const auto channel = TRY((*connection)->query_once(kListen));
      TRY((*connection)->query_once(fmt::format("LISTEN \"{}\"", channel.at(0).text(0))));
      return {};
    }();
    if (!ready) {
      LOG_WARN("cannot listen for other servers: {}", ready.error().to_string());
      pause();
      continue;
    }
    while (!stopping() && listen_once(**connection)) {
    }
  }
}

bool PostgresBroadcast::listen_once(PostgresConnection& connection) {
  const auto hear = [&]() -> Status {
    for (const std::string& hex : TRY(connection.notifications())) {
      const auto bytes = hex_decode(hex);
      if (!bytes) continue;
      const std::lock_guard lock(handler_mutex_);
      if (handler_) {
        handler_(std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
      }
    }
    return {};
  };
  pollfd ready[2] = {{.fd = connection.socket(), .events = POLLIN, .revents = 0},
                     {.fd = wake_, .events = POLLIN, .revents = 0}};
  poll(ready, 2, kPollMs);
  eventfd_t count = 0;
  if ((ready[1].revents & POLLIN) != 0) eventfd_read(wake_, &count);
  const auto exchanged = [&]() -> Status {
    if (ready[0].revents != 0) TRY_VOID(hear());
    const auto outgoing = take_outgoing();
    for (const std::string& message : outgoing) {
      const std::string hex = hex_encode(std::as_bytes(std::span(message)));
      TRY(connection.query_once(
          fmt::format("SELECT pg_notify(current_setting('loam.channel'), '{}')", hex)));
    }
    // While it waited for answers, others may have spoken.
    return outgoing.empty() ? Status() : hear();
  }();
  if (!exchanged) LOG_WARN("messages between servers: {}", exchanged.error().to_string());
  return exchanged.has_value();
}

}  // namespace loam::db
