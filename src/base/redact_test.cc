// SPDX-License-Identifier: Apache-2.0
#include "base/redact.h"

#include <gtest/gtest.h>

namespace loam {
namespace {

TEST(RedactTest, HidesWhoIsAskingInUrls) {
  EXPECT_EQ(redacted("GET http://ann:hush@host:80/a: refused"),
            "GET http://ann:***@host:80/a: refused");
  EXPECT_EQ(redacted("https://hush@host"), "https://***@host");
  // Passwords are not always encoded as they should be.
  EXPECT_EQ(redacted("postgresql://a:hu/s@h@host/db"), "postgresql://a:***@host/db");
  EXPECT_EQ(redacted("s3://KEY:hu/sh@bucket/a"), "s3://KEY:***@bucket/a");
  EXPECT_EQ(redacted("s3://b?endpoint=http://a:hu?sh@h:1&region=x"),
            "s3://b?endpoint=http://a:***@h:1&region=x");
  EXPECT_EQ(redacted("'http://a:1@h' and 'http://b:2@h'"), "'http://a:***@h' and 'http://b:***@h'");
}

TEST(RedactTest, LeavesWhatIsNoSecret) {
  for (const char* text :
       {"", "s3://bucket/a@b", "s3://bucket/a:b@c", "http://127.0.0.1:7070/v1/store/a@b",
        "http://[::1]:80/a@b", "ann@example.org", "loam_user_", "loam_node_agent", "a://",
        "loam_pool_token_file"}) {
    EXPECT_EQ(redacted(text), text);
  }
}

TEST(RedactTest, HidesTokensAndSignatures) {
  EXPECT_EQ(redacted("no: loam_user_0123456789abcdef, loam_admin_ABCDEFGHIJ-KLMN_OPQ!"),
            "no: loam_user_***, loam_admin_***!");
  EXPECT_EQ(
      redacted("http://h/k?X-Amz-Expires=9&X-Amz-Signature=ab12&x=1 <X-AMZ-Security-Token=t/+=>"),
      "http://h/k?X-Amz-Expires=9&X-Amz-Signature=***&x=1 <X-AMZ-Security-Token=***>");
  EXPECT_EQ(redacted("X-Amz-Signature="), "X-Amz-Signature=***");
  EXPECT_EQ(redacted(redacted("http://a:b@c?X-Amz-Signature=1")),
            "http://a:***@c?X-Amz-Signature=***");
}

}  // namespace
}  // namespace loam
