// SPDX-License-Identifier: Apache-2.0
#include "control/server_session.h"

#include "base/log.h"
#include "control/meta_operation.h"
#include "meta/numbers.h"

namespace loam::control {

namespace {
constexpr std::int64_t kTtlMs = 60'000;
}

ServerSession::ServerSession(const Services& services, std::string name)
    : services_(services), name_(std::move(name)), thread_(kRenewEvery, [this] { renew(); }) {}

Result<meta::NodeRef> ServerSession::ref() {
  const std::lock_guard lock(mutex_);
  if (!ref_) {
    ref_ = TRY(write_meta(
        services_, [&](meta::Operation& op) { return meta::begin_session(op, name_, kTtlMs); },
        {.crash_point = false}));
  }
  return *ref_;
}

void ServerSession::lost(const meta::NodeRef& ref) {
  const std::lock_guard lock(mutex_);
  if (ref_ && ref_->epoch == ref.epoch) ref_.reset();
}

std::vector<meta::ObjectId> ServerSession::held() {
  const std::lock_guard lock(mutex_);
  std::vector<meta::ObjectId> out;
  for (const auto& [number, one] : held_)
    out.push_back(one.object);
  return out;
}

void ServerSession::renew() {
  const std::vector<meta::ObjectId> holds = held();
  {
    const std::lock_guard lock(mutex_);
    if (!ref_ && holds.empty()) return;
  }
  const auto present = ref();
  if (!present) {
    LOG_WARN("cannot begin a session: {}", present.error().to_string());
    return;
  }
  const Status renewed = write_meta(
      services_,
      [&](meta::Operation& op) -> Status {
        // Nothing is cached here, so all changes have been taken note of.
        return meta::renew_session(
            op, *present,
            {.ttl_ms = kTtlMs, .position = TRY(meta::last_change(op.session)), .holds = holds});
      },
      {.crash_point = false});
  if (renewed) return;
  LOG_WARN("cannot renew this server's session: {}", renewed.error().to_string());
  if (renewed.error().code != ErrorCode::kLeaseLost) return;
  lost(*present);
  thread_.poke();
}

void ServerSession::stop() {
  thread_.stop();
  const std::lock_guard lock(mutex_);
  if (!ref_) return;
  const meta::NodeRef ref = *ref_;
  ref_.reset();
  const Status ended =
      write_meta(services_, [&](meta::Operation& op) { return meta::end_session(op, ref); },
                 {.crash_point = false});
  if (!ended) LOG_WARN("cannot end this server's session: {}", ended.error().to_string());
}

ServerSession::Hold::Hold(ServerSession& session, std::vector<meta::ObjectId> objects)
    : session_(session), objects_(std::move(objects)) {
  const std::lock_guard lock(session_.mutex_);
  for (const meta::ObjectId& object : objects_) {
    Held& held = session_.held_[object.number];
    held.object = object;
    ++held.count;
  }
}

ServerSession::Hold::~Hold() {
  const std::lock_guard lock(session_.mutex_);
  for (const meta::ObjectId& object : objects_) {
    const auto it = session_.held_.find(object.number);
    if (--it->second.count == 0) session_.held_.erase(it);
  }
}

}  // namespace loam::control
