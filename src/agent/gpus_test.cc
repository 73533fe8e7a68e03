// SPDX-License-Identifier: Apache-2.0
#include "agent/gpus.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/units.h"

namespace loam::agent {
namespace {

TEST(Gpus, ClassesAreWhatJobFilesName) {
  const std::pair<const char*, const char*> cases[] = {
      {"NVIDIA GeForce RTX 4090", "rtx4090"},
      {"NVIDIA GeForce RTX 3080 Ti", "rtx3080ti"},
      {"NVIDIA GeForce RTX 4090 Laptop GPU", "rtx4090laptop"},
      {"NVIDIA GeForce GTX 1080 Ti", "gtx1080ti"},
      {"NVIDIA H100 80GB HBM3", "h100"},
      {"NVIDIA H100 PCIe", "h100"},
      {"NVIDIA H100 NVL", "h100"},
      {"NVIDIA H200", "h200"},
      {"NVIDIA GH200 480GB", "gh200"},
      {"NVIDIA A100-SXM4-80GB", "a100"},
      {"NVIDIA A100 80GB PCIe", "a100"},
      {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "a100"},
      {"Tesla V100-SXM2-16GB", "v100"},
      {"Tesla T4", "t4"},
      {"NVIDIA L40S", "l40s"},
      {"NVIDIA A10G", "a10g"},
      {"NVIDIA RTX A6000", "a6000"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx6000ada"},
      {"Quadro RTX 8000", "rtx8000"},
      {"NVIDIA TITAN V", "titanv"},
  };
  for (const auto& [name, wanted] : cases)
    EXPECT_EQ(gpu_class_of(name), wanted) << name;
  EXPECT_EQ(gpu_class_of(""), "");
}

TEST(Gpus, CanBeMadeUp) {
  ASSERT_EQ(setenv("LOAM_FAKE_GPUS", "rtx4090:24, t4:16:70", 1), 0);
  const auto gpus = find_gpus();
  ASSERT_TRUE(gpus);
  ASSERT_EQ(gpus->size(), 2U);
  EXPECT_EQ((*gpus)[1].index, 1);
  EXPECT_EQ((*gpus)[1].gpu_class, "t4");
  EXPECT_EQ((*gpus)[1].memory_bytes, 16 * kGiB);
  EXPECT_NE((*gpus)[0].uuid, (*gpus)[1].uuid);
  const auto uses = sample_gpus();
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].busy_percent, 0);
  EXPECT_EQ(uses[1].busy_percent, 70);
  ASSERT_EQ(setenv("LOAM_FAKE_GPUS", "", 1), 0);
  EXPECT_TRUE(find_gpus().value().empty());
  for (const char* bad :
       {"rtx4090", "rtx4090:x", "rtx4090:0", "a:1:x", "a:1:101", "a:1:-1", "a:1:2:3"}) {
    ASSERT_EQ(setenv("LOAM_FAKE_GPUS", bad, 1), 0);
    EXPECT_EQ(find_gpus().error().code, ErrorCode::kInvalidArgument) << bad;
  }
  ASSERT_EQ(unsetenv("LOAM_FAKE_GPUS"), 0);
}

TEST(Gpus, WithoutADriverThereAreNone) {
  // On a machine with one there may be some; either way it is no error.
  const auto gpus = find_gpus();
  ASSERT_TRUE(gpus);
  EXPECT_EQ(sample_gpus().size(), gpus->size());
}

}  // namespace
}  // namespace loam::agent
