// SPDX-License-Identifier: Apache-2.0
#include "control/duties.h"

#include "base/log.h"
#include "jobs/duty.h"

namespace loam::control {

namespace {
constexpr std::int64_t kOursUs = (jobs::kDutyMs - jobs::kMaxStepMs) * 1'000;
}

bool Duties::holds(const std::string& duty) {
  if (!services_.db.shared()) return true;
  const std::lock_guard lock(mutex_);
  const auto it = until_us_.find(duty);
  return it != until_us_.end() && services_.clock.boot_us() < it->second;
}

bool Duties::take(const std::string& duty) {
  if (holds(duty)) return true;
  const std::int64_t begun_us = services_.clock.boot_us();
  const auto taken =
      services_.write([&](jobs::Operation& op) { return jobs::take_duty(op, duty, server_); },
                      {.crash_point = false});
  if (!taken) {
    LOG_WARN("cannot ask for the duty to {}: {}", duty, taken.error().to_string());
    return false;
  }
  if (!*taken) return false;
  LOG_INFO("this server has the duty to {} now", duty);
  const std::lock_guard lock(mutex_);
  until_us_[duty] = begun_us + kOursUs;
  return true;
}

Result<std::vector<std::string>> Duties::keep(jobs::Operation& op) {
  {
    const std::lock_guard lock(mutex_);
    if (until_us_.empty()) return std::vector<std::string>();
  }
  return jobs::keep_duties(op, server_);
}

void Duties::kept(const std::vector<std::string>& duties, std::int64_t begun_us) {
  const std::lock_guard lock(mutex_);
  for (const std::string& duty : duties)
    until_us_[duty] = begun_us + kOursUs;
}

void Duties::leave() {
  {
    const std::lock_guard lock(mutex_);
    if (until_us_.empty()) return;
    until_us_.clear();
  }
  const Status left =
      services_.write([&](jobs::Operation& op) { return jobs::leave_duties(op, server_); });
  if (!left) LOG_WARN("cannot give back this server's duties: {}", left.error().to_string());
}

}  // namespace loam::control
