// SPDX-License-Identifier: Apache-2.0
#include "jobs/report_classes.h"

namespace loam::jobs {

ClassTotals::ClassTotals() {
  for (const char* name : {"productive", "provisional", "lost_work", "startup", "data_wait",
                           "checkpoint", "restore", "idle", "draining", "dead", "unaccounted"}) {
    us_[name] = 0;
  }
}

void ClassTotals::add(const std::string& segment_class, std::int64_t us, double uusd_per_hour) {
  us_[segment_class] += us;
  uusd_[segment_class] += static_cast<double>(us) / 3.6e9 * uusd_per_hour;
}

void ClassTotals::add_segment(const std::string& segment_class, std::int64_t length_us,
                              std::int64_t data_wait_us, std::int64_t checkpoint_us,
                              double uusd_per_hour) {
  if (segment_class != "productive" && segment_class != "run") {
    add(segment_class, length_us, uusd_per_hour);
    return;
  }
  add("data_wait", data_wait_us, uusd_per_hour);
  add("checkpoint", checkpoint_us, uusd_per_hour);
  add(segment_class == "run" ? "provisional" : "productive",
      length_us - data_wait_us - checkpoint_us, uusd_per_hour);
}

double ClassTotals::usd() const {
  double total = 0;
  for (const auto& [name, uusd] : uusd_)
    total += uusd;
  return total / 1e6;
}

double ClassTotals::interruption_usd() const {
  double total = 0;
  for (const char* name : {"lost_work", "dead", "draining", "restore"}) {
    if (const auto it = uusd_.find(name); it != uusd_.end()) total += it->second;
  }
  return total / 1e6;
}

std::int64_t ClassTotals::total_us() const {
  std::int64_t total = 0;
  for (const auto& [name, us] : us_)
    total += us;
  return total;
}

Json ClassTotals::seconds() const {
  Json out = Json::object();
  for (const auto& [name, us] : us_)
    out[name] = static_cast<double>(us) / 1e6;
  return out;
}

}  // namespace loam::jobs
