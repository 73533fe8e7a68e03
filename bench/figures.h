// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace loam::bench {

// What a bench found out: a table for people and a file for programs.
class Figures {
 public:
  // `suffix` ends the name of each metric, to tell runs apart in one file.
  explicit Figures(std::string bench, std::string suffix = "")
      : bench_(std::move(bench)), suffix_(std::move(suffix)) {}
  void add(const std::string& metric, double value, const std::string& unit,
           const std::string& detail);
  // The median and 99th percentile of `us` in milliseconds, as NAME_p50_ms and NAME_p99_ms.
  void add_latency(const std::string& name, std::vector<std::int64_t> us,
                   const std::string& detail);
  void print() const;
  // {"bench", "rows": [{"metric", "value", "unit", "detail"}]}; `append` keeps the rows of the file
  // that is there.
  Status write(const std::string& path, bool append) const;

 private:
  std::string bench_;
  std::string suffix_;
  Json rows_ = Json::array();
};

// The smallest value that at least `share` of all do not exceed; 0 if there are none.
std::int64_t percentile(std::vector<std::int64_t> values, double share);

// User and system time of a process so far, of all its threads.
Result<double> cpu_seconds(pid_t pid);
// The largest resident set that a process has had.
Result<double> peak_rss_mb(pid_t pid);
// The median time to append 4 KiB to a file in `directory` and have the disk keep it.
Result<double> sync_ms(const std::string& directory);

}  // namespace loam::bench
