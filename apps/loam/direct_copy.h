// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loam/direct_store.h"
#include "object/object_store.h"

namespace loam::cli {

inline constexpr std::size_t kMaxCopied = 10'000'000;
// Objects that are copied at the same time, if large and if small on the average.
inline constexpr std::size_t kDirectThreads = 16;
inline constexpr std::size_t kSmallDirectThreads = 64;

// One file of a copy: a local path or a key on either side.
struct DirectItem {
  std::string from;
  std::string to;
  std::int64_t size = 0;
  std::int64_t modified_ms = 0;
};

// The two ends of a copy, opened. At least one is S3.
struct DirectPair {
  AnyEnd from;
  AnyEnd to;
  std::unique_ptr<object::ObjectStore> from_store;  // null: this machine
  std::unique_ptr<object::ObjectStore> to_store;
  bool same_service = false;  // so that the service can copy by itself
};
Result<DirectPair> open_pair(const std::string& from, const std::string& to);

struct DirectPlan {
  std::vector<DirectItem> items;
  // Keys that cannot be files of this machine ("a//b", "a/../b", "a/"): shown, never dropped in
  // silence.
  std::vector<std::string> unmapped;
};
// By the rules of copy_destination().
Result<DirectPlan> plan_direct(const DirectPair& pair, bool recursive);

// What lies below an end, by names relative to it, in order of bytes.
struct DirectTree {
  std::vector<DirectItem> files;  // `from` is whole, `to` relative
  std::vector<std::string> unmapped;
};
Result<DirectTree> direct_tree(const AnyEnd& end, object::ObjectStore* store, bool for_files);

// Copies them all; with a progress bar on stderr.
Status run_direct(const DirectPair& pair, const std::vector<DirectItem>& items);

std::int64_t total_bytes(const std::vector<DirectItem>& items);
// Tells about keys that were left out; the exit code for having done so.
int report_unmapped(const std::vector<std::string>& unmapped);

}  // namespace loam::cli
