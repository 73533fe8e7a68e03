// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

namespace loam::cli {

// What `loam store ls|cp|rm|cat|sync` do where an end is s3://…; each prints and gives the exit
// code.

struct DirectListOptions {
  std::string path;
  bool recursive = false;
  bool json = false;
};
Result<int> direct_ls(const DirectListOptions& options);

struct DirectCopyOptions {
  std::string from;
  std::string to;
  bool recursive = false;
  bool json = false;
};
Result<int> direct_cp(const DirectCopyOptions& options);

struct DirectSyncOptions {
  std::string from;
  std::string to;
  bool remove = false;  // what is only at the destination
  bool dry_run = false;
  bool size_only = false;  // times say nothing
  bool json = false;
};
Result<int> direct_sync(const DirectSyncOptions& options);

struct DirectRemoveOptions {
  std::string path;
  bool recursive = false;
  bool ask = false;
};
Result<int> direct_rm(const DirectRemoveOptions& options);

Result<int> direct_cat(const std::string& path);

}  // namespace loam::cli
