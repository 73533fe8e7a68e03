// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace loam::jobs {

// What one slot of a node offers to a job.
struct SlotOffer {
  std::string pool;
  std::int64_t gpus = 0;
  std::string gpu_class;
  double vram_gb = 0;         // of the smallest GPU
  double price_per_hour = 0;  // in dollars, of the slot

  static SlotOffer of(const std::string& pool, std::int64_t gpus, std::int64_t slots,
                      const std::string& gpu_class, double vram_gb, std::int64_t price_uusd_hour);
};

// Whether the slot meets a requirement, which is JSON in the canonical text of Resources::key.
Result<bool> meets(const SlotOffer& slot, const std::string& requirement);

// The same for people: "pool gpu-large, 2 GPUs, gpu_class rtx4090, at most $0.4 an hour".
Result<std::string> requirement_text(const std::string& requirement);

}  // namespace loam::jobs
