// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "loam/client.h"
#include "loam/progress_bar.h"

namespace loam::cli {

// One file of a copy between this machine and the store.
struct CopyItem {
  std::string local;
  std::string store;
  std::int64_t size = 0;
};

// Each file goes with its CRC-32C, which the server checks before anything becomes visible.
Status upload_files(const ApiClient& client, const std::vector<CopyItem>& items);

// Each file arrives under a temporary name beside its place, is checked against its length and
// renamed; directories are made as needed. A failure leaves no partial file.
Status download_files(const ApiClient& client, const std::vector<CopyItem>& items);

std::int64_t total_bytes(const std::vector<CopyItem>& items);

}  // namespace loam::cli
