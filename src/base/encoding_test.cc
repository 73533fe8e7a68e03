// SPDX-License-Identifier: Apache-2.0
#include "base/encoding.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace loam {
namespace {

TEST(EncodingTest, Hex) {
  EXPECT_EQ(hex_encode(std::as_bytes(std::span(std::string_view("\x7f\xff\x1a")))), "7fff1a");
  EXPECT_EQ(hex_decode("7FfF1a")->size(), 3U);
  EXPECT_TRUE(hex_decode("")->empty());
  for (const char* bad : {"a", "0g", "+1", " 1", "0x"})
    EXPECT_FALSE(hex_decode(bad)) << bad;
}

TEST(EncodingTest, PercentEncodingIsThatOfRfc3986) {
  EXPECT_EQ(percent_encode("a b/c~_-.!*'()+%", false), "a%20b%2Fc~_-.%21%2A%27%28%29%2B%25");
  EXPECT_EQ(percent_encode("a/\xc3\xa9", true), "a/%C3%A9");
  EXPECT_EQ(percent_decode("a+b%2f%20"), "a+b/ ");
  for (const char* bad : {"%", "a%", "%2", "%zz", "%2g", "%%20"})
    EXPECT_FALSE(percent_decode(bad)) << bad;
}

TEST(EncodingTest, Base64IsThatOfRfc4648) {
  const std::array<std::pair<const char*, const char*>, 7> vectors{{{"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"fooba", "Zm9vYmE="},
                                                                    {"foobar", "Zm9vYmFy"}}};
  for (const auto& [plain, encoded] : vectors) {
    EXPECT_EQ(base64_encode(plain), encoded);
    EXPECT_EQ(base64_decode(encoded), plain);
  }
  for (const char* bad : {"Z", "Zg", "Zg=", "=", "====", "Z===", "Zg=g",
                          "Zm9v=", "Zg==Zg==", "Zm9-", "Zm 9", "Zm9v\n"}) {
    EXPECT_FALSE(base64_decode(bad)) << bad;
  }
}

TEST(EncodingTest, Utf8IsThatOfRfc3629) {
  for (const char* good : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"}) {
    EXPECT_TRUE(is_valid_utf8(good)) << good;
  }
  // Truncated, stray, overlong, surrogate, beyond U+10FFFF.
  for (const char* bad : {"\xc3", "\xe2\x82", "\x80", "\xff", "\xc0\xaf", "\xe0\x80\xaf",
                          "\xf0\x80\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3("}) {
    EXPECT_FALSE(is_valid_utf8(bad)) << bad;
  }
}

TEST(EncodingTest, PrintableEscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\nb\x1b[2J\x7f"), "a\\x0ab\\x1b[2J\\x7f");
  EXPECT_EQ(printable("\xc3\xa9\xff"), "\xc3\xa9\\xff");
}

// U+0080 to U+009F are control characters too; U+009B starts a sequence in some terminals.
TEST(EncodingTest, PrintableEscapesC1Controls) {
  EXPECT_EQ(printable("\xc2\x9b[2J"), "\\xc2\\x9b[2J");
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");
}

RC_GTEST_PROP(EncodingProperty, RoundTrips, (const std::string& text)) {
  RC_ASSERT(percent_decode(percent_encode(text, false)) == text);
  RC_ASSERT(percent_decode(percent_encode(text, true)) == text);
  RC_ASSERT(base64_decode(base64_encode(text)) == text);
  const auto raw = hex_decode(hex_encode(std::as_bytes(std::span(text))));
  RC_ASSERT(raw.has_value());
  RC_ASSERT(std::equal(raw->begin(), raw->end(), std::as_bytes(std::span(text)).begin()));
  RC_ASSERT(is_valid_utf8(printable(text)));
}

}  // namespace
}  // namespace loam
