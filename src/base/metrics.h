// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace loam {

// Counters and gauges by name, in Prometheus' text form. Any thread.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  void count(std::string_view counter, double by);
  void set(std::string_view gauge, double value);
  // Text exposition format 0.0.4.
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loam
