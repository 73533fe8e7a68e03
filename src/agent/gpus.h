// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace loam::agent {

struct Gpu {
  int index = 0;  // NVML's, which is also nvidia-smi's
  std::string uuid;
  std::string name;       // "NVIDIA GeForce RTX 4090"
  std::string gpu_class;  // "rtx4090"
  std::int64_t memory_bytes = 0;
};

struct GpuUse {
  int index = 0;
  int busy_percent = 0;  // share of the last sample period in which a kernel ran
  std::int64_t memory_used_bytes = 0;
};

// The class that job files name: the product without vendor, form factor and memory size, in lower
// case and without spaces. "NVIDIA A100-SXM4-80GB" is "a100", "NVIDIA GeForce RTX 3080 Ti"
// "rtx3080ti".
std::string gpu_class_of(std::string_view product_name);

// The GPUs of this machine by NVML, which is loaded when first asked; none where there is no
// driver. LOAM_FAKE_GPUS="rtx4090:24,t4:16:70" (class, GiB and, if not 0, the percentage that they
// are busy) replaces them in tests; a malformed value is kInvalidArgument. May be called from any
// thread.
Result<std::vector<Gpu>> find_gpus();

// One sample of each GPU; those that do not answer are left out.
std::vector<GpuUse> sample_gpus();

}  // namespace loam::agent
