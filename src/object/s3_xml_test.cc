// SPDX-License-Identifier: Apache-2.0
#include "object/s3_xml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace loam::object {
namespace {

constexpr std::string_view kList =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult "
    "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name><EncodingType>url</"
    "EncodingType>"
    "<IsTruncated>true</IsTruncated><NextContinuationToken>t/=</NextContinuationToken>"
    "<Contents><Key>a+b%2Bc%0A</Key><LastModified>2026-11-30T15:30:00.250Z</LastModified>"
    "<ETag>&quot;abc-2&quot;</ETag><Size>7</Size></Contents>"
    "<CommonPrefixes><Prefix>d%20e/</Prefix></CommonPrefixes></ListBucketResult>";

TEST(S3Xml, ReadsAList) {
  const S3ListBody list = parse_s3_list(kList).value();
  ASSERT_EQ(list.objects.size(), 1U);
  EXPECT_EQ(list.objects[0].key, "a b+c\n");
  EXPECT_EQ(list.objects[0].etag, "abc-2");
  EXPECT_EQ(list.objects[0].size, 7);
  EXPECT_EQ(list.objects[0].modified_ms, 1'796'052'600'250);
  EXPECT_EQ(list.prefixes, std::vector<std::string>{"d e/"});
  EXPECT_TRUE(list.truncated);
  EXPECT_EQ(list.next_token, "t/=");
}

TEST(S3Xml, AListThatWasCutAnywhereIsNoList) {
  for (std::size_t n = 0; n < kList.size(); ++n) {
    const auto list = parse_s3_list(kList.substr(0, n));
    ASSERT_FALSE(list) << n;
    EXPECT_EQ(list.error().code, ErrorCode::kUnavailable);
  }
}

TEST(S3Xml, SurvivesWhateverComes) {
  SeededRandom random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text(kList);
    for (int edits = 0; edits < 4; ++edits)
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    const auto list = parse_s3_list(text);
    if (list) {
      for (const ObjectInfo& object : list->objects)
        EXPECT_GE(object.size, 0);
    }
    static_cast<void>(parse_s3_error(text));
    static_cast<void>(parse_s3_uploads(text));
    static_cast<void>(parse_s3_parts(text));
  }
}

TEST(S3Xml, TellsErrorsFromResults) {
  const auto error = parse_s3_error("<Error><Code>SlowDown</Code><Message>less</Message></Error>");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "SlowDown");
  EXPECT_FALSE(parse_s3_error("<CopyObjectResult><ETag>\"x\"</ETag></CopyObjectResult>"));
  EXPECT_FALSE(parse_s3_error("not XML"));
  EXPECT_EQ(*parse_s3_etag("<CopyObjectResult><ETag>\"x\"</ETag></CopyObjectResult>"), "x");
  EXPECT_FALSE(parse_s3_etag("<Error><Code>InternalError</Code></Error>"));
}

TEST(S3Xml, ADocumentIsOneAnswer) {
  const std::string error = "<Error><Code>InternalError</Code></Error>";
  const std::string result = "<CopyObjectResult><ETag>\"x\"</ETag></CopyObjectResult>";
  for (const std::string& both : {error + result, result + error}) {
    EXPECT_FALSE(parse_s3_error(both)) << both;
    EXPECT_FALSE(parse_s3_etag(both)) << both;
  }
  EXPECT_TRUE(parse_s3_etag("<!-- from a proxy --><?xml version=\"1.0\"?>" + result + "\n"));
}

TEST(S3Xml, APageWithoutItsEndIsNoPage) {
  const std::string_view uploads =
      "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>{}</ListMultipartUploadsResult>";
  EXPECT_FALSE(parse_s3_uploads(fmt::format(fmt::runtime(uploads), "")));
  EXPECT_TRUE(
      parse_s3_uploads(fmt::format(fmt::runtime(uploads), "<NextKeyMarker>k</NextKeyMarker>")));
  const std::string_view parts =
      "<ListPartsResult><Part><PartNumber>{}</PartNumber><Size>1</Size></Part></ListPartsResult>";
  EXPECT_TRUE(parse_s3_parts(fmt::format(fmt::runtime(parts), kMaxParts)));
  EXPECT_FALSE(parse_s3_parts(fmt::format(fmt::runtime(parts), kMaxParts + 1)));
}

TEST(S3Xml, SaysWhatXmlCannotSay) {
  EXPECT_EQ(xml_text("a<&>\n"), "a&lt;&amp;&gt;&#10;");
  EXPECT_FALSE(xml_text("\x01"));
  EXPECT_FALSE(xml_text("\xff"));
}

}  // namespace
}  // namespace loam::object
