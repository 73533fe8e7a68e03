// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <mutex>

namespace loam {

struct Metrics::Impl {
  prometheus::Registry registry;
  std::mutex mutex;
  std::map<std::string, prometheus::Counter*, std::less<>> counters;
  std::map<std::string, prometheus::Gauge*, std::less<>> gauges;
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::count(std::string_view counter, double by) {
  const std::lock_guard lock(impl_->mutex);
  auto it = impl_->counters.find(counter);
  if (it == impl_->counters.end()) {
    auto& family = prometheus::BuildCounter().Name(std::string(counter)).Register(impl_->registry);
    it = impl_->counters.emplace(std::string(counter), &family.Add({})).first;
  }
  it->second->Increment(by);
}

void Metrics::set(std::string_view gauge, double value) {
  const std::lock_guard lock(impl_->mutex);
  auto it = impl_->gauges.find(gauge);
  if (it == impl_->gauges.end()) {
    auto& family = prometheus::BuildGauge().Name(std::string(gauge)).Register(impl_->registry);
    it = impl_->gauges.emplace(std::string(gauge), &family.Add({})).first;
  }
  it->second->Set(value);
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace loam
