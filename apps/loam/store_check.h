// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "object/s3_store.h"

namespace loam::cli {

struct CheckFinding {
  std::string name;  // "preconditions"
  bool good = true;
  std::string found;   // "PUT If-None-Match is honoured, …"
  std::string advice;  // what to change; empty if nothing
};

// What one S3 service does with the things that Loam would like to rely on. Everything is tried out
// on objects below `prefix`, which is empty and is left empty. The store should have been opened
// with one try a request: refusals are what is looked for.
Result<std::vector<CheckFinding>> check_service(object::S3Store& store, const std::string& prefix);

struct CheckSpeed {
  double put_bytes_per_second = 0;  // one large object, in parts
  double get_bytes_per_second = 0;
  std::int64_t put_us = 0;  // the median of a small object
  std::int64_t get_us = 0;
  std::int64_t bytes = 0;
};
Result<CheckSpeed> measure_service(object::S3Store& store, const std::string& prefix,
                                   std::int64_t bytes);

}  // namespace loam::cli
