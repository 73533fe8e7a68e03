// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace loam::object {

// Environment variables by name; a seam, so that tests need not change the process's own.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
// Unset and empty are the same.
Environment process_environment();

enum class PayloadSigning { kAuto, kAlways, kNever };

// How to reach one bucket. docs/STORES.md explains each for users.
struct S3Options {
  std::string bucket;
  std::string prefix;    // of all keys; empty, or ends in '/'
  std::string endpoint;  // "https://s3.eu-central-1.amazonaws.com", without a path
  std::string region;
  bool path_style = false;  // http://host/bucket/key instead of http://bucket.host/key
  std::string profile;      // of the shared credentials file
  std::string ca_file;      // PEM, instead of the system's
  // Whether PUTs carry a SHA-256 that the server checks. kAuto: over plain HTTP only, since TLS
  // detects what the network does to bytes.
  PayloadSigning payload_signing = PayloadSigning::kAuto;
  std::int64_t part_bytes = 8 * kMiB;  // of uploads and of parallel reads
  std::size_t connections = 16;        // of transfers in parallel, beside the callers' own
  std::size_t parallel_parts = 8;      // of one object
  int tries = 12;
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds stall_timeout{20'000};  // no byte moved
  // A whole request: this, and as long as its bytes take at 64 KiB/s.
  std::chrono::milliseconds deadline{60'000};
};

// "s3://bucket/prefix?endpoint=http://127.0.0.1:7480&path_style=true", completed from the usual
// AWS_* variables. An unknown option is kInvalidArgument and named.
Result<S3Options> parse_s3_url(std::string_view url, const Environment& environment);

// Whether `name` is an option of such URLs.
bool is_s3_option(std::string_view name);

}  // namespace loam::object
