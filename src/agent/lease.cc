// SPDX-License-Identifier: Apache-2.0
#include "agent/lease.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace loam::agent {

namespace {
// An agent that is well tells its watchdog so every half second; one that has been silent for this
// long past its deadline is taken for frozen.
constexpr std::int64_t kFrozenUs = 2'000'000;
constexpr std::chrono::milliseconds kPoll{100};
}  // namespace

Lease::Lease(const ServerApi& api, Timeline& timeline, const Clock& clock, LeaseTerms terms)
    : api_(api),
      timeline_(timeline),
      clock_(clock),
      terms_(std::move(terms)),
      deadline_boot_us_(terms_.claim_sent_boot_us + terms_.ttl_ms * 1'000),
      thread_([this] { run(); }) {}

Lease::~Lease() {
  stop();
}

std::string Lease::header() const {
  return fmt::format("{}.{}", terms_.epoch, terms_.token);
}

bool Lease::may_publish() const {
  return !lost() && clock_.boot_us() < deadline_boot_us();
}

std::int64_t Lease::kill_at_boot_us() const {
  const std::int64_t deadline = deadline_boot_us();
  return std::min(std::max(deadline, clock_.boot_us() + kFrozenUs),
                  deadline + terms_.isolation_ms * 1'000);
}

bool Lease::wait_until_may_publish(const std::function<bool()>& give_up) const {
  std::unique_lock lock(mutex_);
  while (!may_publish()) {
    if (lost() || (give_up && give_up())) return false;
    changed_.wait_for(lock, kPoll);
  }
  return true;
}

void Lease::set_phase(const std::string& phase) {
  {
    const std::lock_guard lock(mutex_);
    phase_ = phase;
  }
  renew_soon();
}

void Lease::set_resumed(std::int64_t step, const std::string& set) {
  {
    const std::lock_guard lock(mutex_);
    resumed_step_ = step;
    resumed_set_ = set;
  }
  renew_soon();
}

void Lease::set_step(std::int64_t step, std::int64_t boot_us) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    step_ = step;
    if (!first_step_boot_us_) {
      first_step_boot_us_ = boot_us;
      first = true;
    }
  }
  if (first) renew_soon();
}

void Lease::set_written_step(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  written_step_ = step;
}

void Lease::set_save_cost_us(std::int64_t us) {
  const std::lock_guard lock(mutex_);
  save_cost_us_ = us;
}

std::optional<std::int64_t> Lease::step() const {
  const std::lock_guard lock(mutex_);
  return step_;
}

std::optional<double> Lease::advised_interval_s() const {
  const std::lock_guard lock(mutex_);
  return advised_interval_s_;
}

void Lease::renew_soon() {
  {
    const std::lock_guard lock(mutex_);
    soon_ = true;
  }
  changed_.notify_all();
}

void Lease::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Lease::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_ && !lost()) {
    // After a failure the next try comes sooner, so that one lost packet does not cost the lease.
    const std::int64_t wait_ms = failing_
                                     ? std::clamp<std::int64_t>(terms_.heartbeat_ms / 4, 100, 2'000)
                                     : terms_.heartbeat_ms;
    changed_.wait_for(lock, std::chrono::milliseconds(wait_ms),
                      [this] { return stopping_ || (soon_ && !failing_); });
    if (stopping_) break;
    soon_ = false;
    lock.unlock();
    renew();
    lock.lock();
  }
}

Json Lease::renewal_body(std::int64_t now_boot_us) {
  const std::lock_guard lock(mutex_);
  Json body{{"phase", phase_}};
  if (resumed_step_) {
    body["resumed_step"] = *resumed_step_;
    body["resumed_set"] = resumed_set_;
  }
  if (step_) body["step"] = *step_;
  if (written_step_) body["written_step"] = *written_step_;
  if (first_step_boot_us_) body["first_step_ago_us"] = now_boot_us - *first_step_boot_us_;
  if (save_cost_us_) body["save_cost_us"] = *save_cost_us_;
  if (starved_.exchange(false)) body["starved"] = true;
  return body;
}

void Lease::renew() {
  const std::int64_t sent = clock_.boot_us();
  Json body = renewal_body(sent);
  const Timeline::Report report = timeline_.report(terms_.slot);
  body["now_us"] = report.now_us;
  body["segments"] = report.segments;
  // An answer that takes longer than the lease lasts is of no use.
  const auto answer = api_.post(fmt::format("/v1/node/jobs/{}/renew", terms_.job), body,
                                {.lease = header(),
                                 .deadline = std::chrono::milliseconds(
                                     std::clamp<std::int64_t>(terms_.ttl_ms, 1'000, 30'000)),
                                 .canceled = [this] {
                                   const std::lock_guard lock(mutex_);
                                   return stopping_;
                                 }});
  const std::lock_guard lock(mutex_);
  failing_ = !answer;
  if (answer) {
    deadline_boot_us_ = sent + terms_.ttl_ms * 1'000;
    timeline_.acknowledge(report);
    const Json advice = answer->value("advice", Json());
    if (advice.is_object() && advice.contains("checkpoint_interval_s")) {
      advised_interval_s_ = advice["checkpoint_interval_s"].get<double>();
    }
  } else if (answer.error().code == ErrorCode::kLeaseLost ||
             answer.error().code == ErrorCode::kNotFound) {
    LOG_WARN("the lease of {} (attempt {}) is lost: {}", terms_.job, terms_.epoch,
             answer.error().message);
    lost_ = true;
  } else if (!stopping_) {
    LOG_WARN("renewing {} (attempt {}) failed: {}", terms_.job, terms_.epoch,
             answer.error().to_string());
  }
  changed_.notify_all();
}

}  // namespace loam::agent
