// SPDX-License-Identifier: Apache-2.0
#include "control/server_keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/encoding.h"
#include "io/temp_directory.h"

namespace loam::control {
namespace {

TEST(ServerKeysTest, AreMadeOnceAndReadableByTheServerOnly) {
  const io::TempDirectory directory;
  SystemRandom random;
  const auto first = ServerKeys::load_or_create(directory / "keys", random);
  ASSERT_TRUE(first);
  struct stat info {};
  ASSERT_EQ(stat((directory / "keys").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const auto again = ServerKeys::load_or_create(directory / "keys", random);
  ASSERT_TRUE(again);
  EXPECT_EQ(first->lease_token("n-1", "c-1"), again->lease_token("n-1", "c-1"));
  EXPECT_EQ(first->lease_token("n-1", "c-1").size(), 32U);
  EXPECT_NE(first->lease_token("n-1", "c-1"), first->lease_token("n-1", "c-2"));
  EXPECT_NE(first->lease_token("n-1", "c-1"), first->lease_token("n-1c", "-1"));
}

TEST(ServerKeysTest, WhatIsSealedOpensInItsPlaceOnly) {
  const io::TempDirectory directory;
  SystemRandom random;
  const auto keys = ServerKeys::load_or_create(directory / "keys", random);
  ASSERT_TRUE(keys);
  const auto sealed = keys->seal(random, "s3cret", "job-1/KEY");
  ASSERT_TRUE(sealed);
  EXPECT_EQ(sealed->find("s3cret"), std::string::npos);
  EXPECT_NE(*sealed, *keys->seal(random, "s3cret", "job-1/KEY"));
  EXPECT_EQ(keys->unseal(*sealed, "job-1/KEY"), "s3cret");
  EXPECT_FALSE(keys->unseal(*sealed, "job-2/KEY"));
  EXPECT_FALSE(keys->unseal("", "job-1/KEY"));
  EXPECT_FALSE(keys->unseal("AAAA", "job-1/KEY"));
  std::string raw = *base64_decode(*sealed);
  for (std::size_t i = 0; i < raw.size(); ++i) {
    std::string flipped = raw;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    EXPECT_FALSE(keys->unseal(base64_encode(flipped), "job-1/KEY")) << i;
  }
  const auto other = ServerKeys::load_or_create(directory / "other", random);
  EXPECT_FALSE(other->unseal(*sealed, "job-1/KEY"));
}

}  // namespace
}  // namespace loam::control
